#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "commands.hpp"
#include "json.hpp"
#include "options.hpp"
#include "tapconv/cache.hpp"
#include "tapconv/error.hpp"

namespace tapconv::cli {
namespace {

namespace fs = std::filesystem;

struct CacheOptions {
  std::vector<std::string> words;
  std::string max_bytes;
  bool all = false, json = false;
};

/// In the largest unit of which there is at least one.
std::string duration(double seconds) {
  if (seconds < 60) return fmt::format("{:.0f} s", seconds);
  if (seconds < 3600) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 86400) return fmt::format("{:.0f} h", seconds / 3600);
  return fmt::format("{:.0f} d", seconds / 86400);
}

void print_text(const CacheReport& report) {
  if (report.folders.empty()) fmt::print("off: no folder\n");
  for (const CacheFolder& folder : report.folders) {
    const std::string use = folder.written ? fmt::format("at most {} bytes", report.max_bytes) : "read-only";
    fmt::print("{} ({})\n", folder.path, use);
    for (const CachedKernel& kernel : folder.kernels)
      fmt::print("  {}  {:<7} {:>9} bytes  used {:>6} ago  {}\n", kernel.key.substr(0, 12), kernel.architecture,
                 kernel.bytes, duration(kernel.unused_s), kernel.fault.empty() ? kernel.entry : "bad");
  }
}

/// Names the bad ones on standard error; returns how many there are.
std::size_t tell_bad(const std::vector<CachedKernel>& kernels) {
  std::size_t bad = 0;
  for (const CachedKernel& kernel : kernels) {
    if (kernel.fault.empty()) continue;
    fmt::print(stderr, "tapconv: {}\n", kernel.fault);
    ++bad;
  }
  return bad;
}

/// A folder that is none holds nothing, and nothing can be written to it.
void tell_no_folders(const CacheReport& report) {
  for (const CacheFolder& folder : report.folders) {
    std::error_code error;
    if (fs::exists(folder.path, error) && !fs::is_directory(folder.path, error))
      fmt::print(stderr, "tapconv: {} is not a folder: no kernels are kept in it\n", folder.path);
  }
}

/// Makes it also when there is nothing to copy.
void make_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw Error(ErrorCode::environment, fmt::format("cannot make {}: {}", folder, error.message()));
}

int list(const CacheOptions& options) {
  const CacheReport report = list_cache();
  tell_no_folders(report);
  if (options.json)
    print(to_json(report));
  else
    print_text(report);
  return exit_pass;
}

int verify(const CacheOptions& options) {
  const CacheReport report = verify_cache();
  tell_no_folders(report);
  std::size_t kernels = 0, bad = 0;
  for (const CacheFolder& folder : report.folders) {
    kernels += folder.kernels.size();
    bad += tell_bad(folder.kernels);
  }
  if (options.json) {
    Json json = to_json(report);
    json["good"] = kernels - bad;
    json["bad"] = bad;
    print(json);
  } else {
    fmt::print("{} good, {} bad\n", kernels - bad, bad);
  }
  return bad > 0 ? exit_incorrect : exit_pass;
}

int prune(const CacheOptions& options) {
  std::optional<std::uint64_t> max_bytes;
  if (options.all) max_bytes = 0;
  if (!options.max_bytes.empty())
    max_bytes = static_cast<std::uint64_t>(parse_number("max-bytes", options.max_bytes, 0));
  const CachePruning pruning = prune_cache(max_bytes);
  if (options.json)
    print(to_json(pruning));
  else
    fmt::print("removed {} ({} bytes), kept {} ({} bytes)\n", pruning.removed, pruning.removed_bytes, pruning.kept,
               pruning.kept_bytes);
  return exit_pass;
}

int export_to(const std::string& folder, const CacheOptions& options) {
  make_folder(folder);
  const CacheExport result = export_cache(folder);
  if (options.json)
    print(to_json(result));
  else
    fmt::print("copied {} ({} bytes), {} were there\n", result.copied, result.copied_bytes, result.present);
  return tell_bad(result.bad) > 0 ? exit_incorrect : exit_pass;
}

int run(const CacheOptions& options) {
  if (options.words.empty())
    throw Error(ErrorCode::usage,
                "cache needs an action: list, verify, prune or export FOLDER (see tapconv cache --help)");
  const std::string& action = options.words.front();
  const bool exports = action == "export";
  if (exports != (options.words.size() == 2) || (exports && options.words[1].empty()))
    throw Error(ErrorCode::usage, "a folder is given to cache export, and to nothing else");
  if (action != "prune" && (options.all || !options.max_bytes.empty()))
    throw Error(ErrorCode::usage, fmt::format("--all and --max-bytes are for cache prune, not for cache {}", action));
  if (action == "list") return list(options);
  if (action == "verify") return verify(options);
  if (action == "prune") return prune(options);
  if (exports) return export_to(options.words[1], options);
  throw Error(ErrorCode::usage, fmt::format("cache {}; valid: list, verify, prune, export FOLDER", action));
}

}  // namespace

void add_cache(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<CacheOptions>();
  CLI::App* command = app.add_subcommand("cache");
  command->add_option("action", options->words)->expected(1, 2);
  CLI::Option* max_bytes = command->add_option("--max-bytes", options->max_bytes)->check(expect_value);
  command->add_flag("--all", options->all)->excludes(max_bytes);
  command->add_flag("--json", options->json);
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace tapconv::cli
