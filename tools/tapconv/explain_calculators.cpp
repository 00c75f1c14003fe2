#include "explain_calculators.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "tapconv/error.hpp"

namespace tapconv::cli {
namespace {

/// "a=1,b=2" as numbers. Throws Error{usage} for other names than `valid`, a name given twice, numbers below 0.
std::map<std::string, std::int64_t> parse_fields(const char* option, const std::string& text,
                                                 const std::vector<std::string>& valid) {
  std::map<std::string, std::int64_t> fields;
  for (const std::string& part : split(text)) {
    const std::size_t sign = std::min(part.find('='), part.size());
    const std::string name = part.substr(0, sign);
    if (sign == part.size() || std::ranges::find(valid, name) == valid.end() || fields.contains(name))
      throw Error(ErrorCode::usage, fmt::format("{} = {}; '{}' is not valid; valid: {}=N, each once, separated by ','",
                                                option, text, part, fmt::join(valid, "=N, ")));
    fields[name] = parse_number(name.c_str(), part.substr(sign + 1), 0);
  }
  return fields;
}

BlockNeeds parse_needs(const std::string& text) {
  const auto fields = parse_fields("occupancy", text, {"threads", "registers", "shared"});
  if (!fields.contains("threads") || !fields.contains("registers"))
    throw Error(ErrorCode::usage,
                fmt::format("occupancy = {}; threads and registers are needed; valid: threads=128,registers=96", text));
  return {.threads = fields.at("threads"),
          .registers = fields.at("registers"),
          .shared_bytes = fields.contains("shared") ? fields.at("shared") : 0};
}

Tile parse_tile(const std::string& text, const Problem& problem) {
  // The axes that the problem has, in PyTorch's order.
  const std::vector<std::string> names{"depth", "height", "width"};
  const std::vector<std::string> axes(names.end() - problem.rank, names.end());
  std::vector<std::string> valid{"channels", "pixels", "images"};
  valid.insert(valid.end(), axes.begin(), axes.end());
  auto fields = parse_fields("tile", text, valid);
  Tile tile;
  for (const auto& [name, value] : fields) {
    const auto axis = std::ranges::find(axes, name);
    if (axis != axes.end())
      tile.positions[static_cast<std::size_t>(axis - axes.begin())] = value;
    else if (name == "pixels")
      tile.pixels = value;
    else
      (name == "images" ? tile.images : tile.channels) = value;
  }
  if (tile.pixels && fields.size() > 1 + fields.count("channels"))
    throw Error(ErrorCode::usage,
                fmt::format("tile = {}; pixels run on over axes and images; valid: pixels, or sizes along them", text));
  return tile;
}

void print_tile(const CalculatorAnswers::OfTile& tile) {
  for (const TileFit& fit : tile.fits) {
    fmt::print("tile of {}\n", spell(fit.problem));
    fmt::print("  {} blocks, {:.3g} waves of {} blocks, {:.1f} % of their places used\n", fit.blocks, fit.waves,
               tile.resident_blocks, 100 * fit.tail_efficiency);
    fmt::print("  {:.1f} % of the products wasted at edges\n", 100 * fit.edge_waste);
  }
}

void print_access(const CalculatorAnswers::OfAccess& access) {
  const auto& [text, shared, global] = access;
  fmt::print("access {}\n", text);
  fmt::print("  shared memory  {} wavefronts, without conflicts {}", shared.wavefronts, shared.ideal_wavefronts);
  if (shared.most_words > 1)
    fmt::print(": bank {} gives {} different words to lanes that are served together", shared.worst_bank,
               shared.most_words);
  fmt::print(
      "\n  global memory  {} sectors of 32 bytes, at best {}; {} lines of 128 bytes, at best {}; {:.0f} % of {} "
      "bytes are of use\n",
      global.sectors, global.least_sectors, global.lines, global.least_lines, 100 * global.efficiency,
      32 * global.sectors);
}

}  // namespace

void CalculatorOptions::add(CLI::App& command) {
  command.add_option("--occupancy", occupancy)->check(expect_value);
  command.add_option("--tile", tile)->check(expect_value);
  CLI::Option* access = command.add_option("--access", accesses)->check(expect_value)->expected(1);
  access->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_option("--block", block)->check(expect_value)->needs(access);
}

CalculatorAnswers answers(const CalculatorOptions& options, const ProblemOptions& problem,
                          const DeviceOptions& device) {
  if (options.tile.empty() && !problem.text.empty())
    throw Error(ErrorCode::usage,
                fmt::format("PROBLEM = {} beside --occupancy or --access; valid: alone, or with --tile", problem.text));
  CalculatorAnswers result;
  if (!options.occupancy.empty()) {
    const Multiprocessor processor = multiprocessor(device.chosen());
    result.occupancy = {processor, occupancy(processor, parse_needs(options.occupancy))};
  }
  if (!options.tile.empty()) {
    if (problem.text.empty())
      throw Error(ErrorCode::usage, fmt::format("tile = {} of no problem; valid: with PROBLEM", options.tile));
    const std::int64_t each = result.occupancy ? result.occupancy->occupancy.blocks : 1;
    if (each == 0)
      throw Error(ErrorCode::usage,
                  fmt::format("occupancy = {} does not fit a multiprocessor of {}; valid: fewer of {}",
                              options.occupancy, result.occupancy->multiprocessor.device_name,
                              name(result.occupancy->occupancy.limited_by.front())));
    const Problem of = problem.problem();
    const std::int64_t resident = each * multiprocessor(device.chosen()).count;
    result.tile = {resident, tile_fit(of, parse_tile(options.tile, of), resident)};
  }
  const std::int64_t threads = options.block.empty() ? 32 : parse_number("block", options.block, 1, 1024);
  for (const std::string& access : options.accesses) {
    const std::vector<WarpAccess> warps = parse_access(access, threads);
    result.accesses.push_back({access, shared_access(warps), global_access(warps)});
  }
  return result;
}

std::optional<Occupancy> occupancy_of(const PlannedKernel& kernel, const Device& device) {
  if (!kernel.resources) return std::nullopt;
  return occupancy(multiprocessor(device),
                   {.threads = kernel.threads,
                    .registers = kernel.resources->registers,
                    .shared_bytes = kernel.resources->static_shared_bytes + kernel.dynamic_shared_bytes});
}

std::string text(const Occupancy& occupancy, const Multiprocessor& multiprocessor) {
  std::vector<std::string_view> limits;
  for (const Resource resource : occupancy.limited_by) limits.push_back(name(resource));
  return fmt::format("{} blocks, {} of {} warps ({:.0f} %), limited by {}", occupancy.blocks, occupancy.warps,
                     multiprocessor.warps, 100 * occupancy.share, fmt::join(limits, ", "));
}

void print_text(const CalculatorAnswers& answers) {
  if (answers.occupancy) {
    const auto& [processor, occupancy] = *answers.occupancy;
    fmt::print("a multiprocessor of {} ({} of them)\n  {}\n", processor.device_name, processor.count,
               text(occupancy, processor));
    fmt::print("  allowed        {} blocks by warps, {} by blocks, {} by registers, {} by shared memory\n",
               occupancy.by_warps, occupancy.by_blocks, occupancy.by_registers, occupancy.by_shared_memory);
    fmt::print("  allocated      {} registers a warp, {} bytes of shared memory a block\n",
               occupancy.registers_per_warp, occupancy.shared_bytes);
    if (occupancy.one_more)
      fmt::print("  one block more with at most {} registers a thread and {} bytes of shared memory a block\n",
                 occupancy.one_more->registers, occupancy.one_more->shared_bytes);
  }
  if (answers.tile) print_tile(*answers.tile);
  for (const auto& access : answers.accesses) print_access(access);
}

Json to_json(const Occupancy& occupancy) {
  Json json{{"blocks", occupancy.blocks},
            {"warps", occupancy.warps},
            {"share", occupancy.share},
            {"limited_by", Json::array()},
            {"by_warps", occupancy.by_warps},
            {"by_blocks", occupancy.by_blocks},
            {"by_registers", occupancy.by_registers},
            {"by_shared_memory", occupancy.by_shared_memory},
            {"registers_per_warp", occupancy.registers_per_warp},
            {"shared_bytes", occupancy.shared_bytes},
            {"one_more", nullptr}};
  for (const Resource resource : occupancy.limited_by) json["limited_by"].push_back(name(resource));
  if (occupancy.one_more)
    json["one_more"] = {{"registers", occupancy.one_more->registers},
                        {"shared_bytes", occupancy.one_more->shared_bytes}};
  return json;
}

Json to_json(const CalculatorAnswers& answers) {
  Json json = Json::object();
  if (answers.occupancy) {
    json["device_name"] = answers.occupancy->multiprocessor.device_name;
    json["occupancy"] = to_json(answers.occupancy->occupancy);
  }
  if (answers.tile) {
    json["resident_blocks"] = answers.tile->resident_blocks;
    json["tiles"] = Json::array();
    for (const TileFit& fit : answers.tile->fits)
      json["tiles"].push_back({{"problem", spell(fit.problem)},
                               {"blocks", fit.blocks},
                               {"waves", fit.waves},
                               {"tail_efficiency", fit.tail_efficiency},
                               {"edge_waste", fit.edge_waste}});
  }
  for (const auto& [access, shared, global] : answers.accesses)
    json["accesses"].push_back({{"access", access},
                                {"wavefronts", shared.wavefronts},
                                {"ideal_wavefronts", shared.ideal_wavefronts},
                                {"most_words", shared.most_words},
                                {"worst_bank", shared.worst_bank},
                                {"sectors", global.sectors},
                                {"least_sectors", global.least_sectors},
                                {"lines", global.lines},
                                {"least_lines", global.least_lines},
                                {"useful_bytes", global.useful_bytes},
                                {"efficiency", global.efficiency}});
  return json;
}

}  // namespace tapconv::cli
