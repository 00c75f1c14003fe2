#include "plan/database.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <sstream>
#include <system_error>
#include <thread>

#include "io/file.hpp"
#include "plan/planner.hpp"
#include "problem/log.hpp"
#include "problem/text.hpp"

namespace tapconv {
namespace {

namespace fs = std::filesystem;

/// The only process that holds the lock of `file`: a file beside it, because a write replaces the file itself.
class FileLock {
 public:
  /// Throws Error{environment}; of a file that is empty, or whose folder cannot be made, as well.
  FileLock(const fs::path& file, std::chrono::milliseconds wait) : descriptor_(open_lock(file)) {
    const auto end = std::chrono::steady_clock::now() + wait;
    while (::flock(descriptor_.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno != EWOULDBLOCK) fail_with_errno(lock_of(file));
      if (std::chrono::steady_clock::now() >= end)
        fail(ErrorCode::environment, "cannot lock {}: another process has held it for {} s; try again when it is done",
             lock_of(file).string(), std::chrono::duration<double>(wait).count());
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

 private:
  [[noreturn]] static void fail_with_errno(const fs::path& path) {
    fail(ErrorCode::environment, "cannot lock {}: {}", path.string(), std::generic_category().message(errno));
  }

  static fs::path lock_of(const fs::path& file) { return file.string() + ".lock"; }

  static int open_lock(const fs::path& file) {
    if (file.empty())
      fail(ErrorCode::environment, "there is no plan database to write: set TAPCONV_PLAN_DB to a file, or HOME");
    std::error_code error;
    if (file.has_parent_path()) fs::create_directories(file.parent_path(), error);
    if (error) fail(ErrorCode::environment, "cannot make the folder of {}: {}", file.string(), error.message());
    const int descriptor = ::open(lock_of(file).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0) fail_with_errno(lock_of(file));
    return descriptor;
  }

  io::Descriptor descriptor_;
};

/// What is between the ':' of `list`, without empty parts.
std::vector<fs::path> paths_of(const std::string& list) {
  std::istringstream text(list);
  std::vector<fs::path> parts;
  for (std::string part; std::getline(text, part, ':');) {
    if (!part.empty()) parts.emplace_back(part);
  }
  return parts;
}

/// `otherwise` where it is unset or empty.
std::string variable(const char* name, const std::string& otherwise = "") {
  const char* const value = std::getenv(name);
  return value && *value ? value : otherwise;
}

}  // namespace

std::vector<fs::path> plan_files_of_environment() {
  if (const char* const list = std::getenv("TAPCONV_PLAN_DB")) {
    std::vector<fs::path> files = paths_of(list);
    // Nothing is written, as for TAPCONV_CACHE_DIR.
    if (!files.empty() && *list == ':') files.emplace(files.begin());
    return files;
  }
  const fs::path name = fs::path("tapconv") / "plans.json";
  const std::string home = variable("HOME");
  std::string data = variable("XDG_DATA_HOME");
  if (data.empty() && !home.empty()) data = home + "/.local/share";
  // Without a home nothing is written, but the system's plans are read.
  std::vector<fs::path> files{data.empty() ? fs::path() : data / name};
  for (const fs::path& folder : paths_of(variable("XDG_DATA_DIRS", "/usr/local/share:/usr/share")))
    files.push_back(folder / name);
  return files;
}

PlanDatabase& PlanDatabase::of_process() {
  static PlanDatabase database(plan_files_of_environment());
  return database;
}

fs::path PlanDatabase::file() const { return files_.empty() ? fs::path() : files_.front(); }

const Plans& PlanDatabase::loaded() {
  if (plans_) return *plans_;
  plans_.emplace();
  for (const fs::path& file : files_) {
    if (file.empty()) continue;
    try {
      plans_->merge(read_plans(file));  // keeps what is there
    } catch (const Error& error) {
      log(LogLevel::warning, "plans are made without a file: {}", error.what());
    }
  }
  return *plans_;
}

std::optional<StoredPlan> PlanDatabase::find(const PlanKey& key) {
  const std::lock_guard lock(mutex_);
  const Plans& plans = loaded();
  const auto found = plans.find(key);
  return found == plans.end() ? std::nullopt : std::optional(found->second);
}

Plans PlanDatabase::plans() {
  const std::lock_guard lock(mutex_);
  return loaded();
}

void PlanDatabase::expect_writable() const {
  const FileLock file_lock(file(), lock_wait_);
  (void)read_plans(file());
  const io::AtomicFile removed_again(file());
}

template <class Change>
std::size_t PlanDatabase::rewrite(const Change& change) {
  const std::lock_guard lock(mutex_);
  const FileLock file_lock(file(), lock_wait_);
  // Not what was loaded: another process may have written since.
  Plans plans = read_plans(file());
  const std::size_t changed = change(plans);
  if (changed > 0) write_plans(file(), plans);
  plans_.reset();
  return changed;
}

std::size_t PlanDatabase::record(std::span<const StoredPlan> added) {
  return rewrite([&](Plans& plans) {
    return static_cast<std::size_t>(
        std::ranges::count_if(added, [&](const StoredPlan& plan) { return merge_plan(plans, plan); }));
  });
}

std::size_t PlanDatabase::forget(std::span<const std::string> problems) {
  return rewrite([&](Plans& plans) {
    return std::erase_if(
        plans, [&](const auto& entry) { return std::ranges::find(problems, entry.second.problem) != problems.end(); });
  });
}

std::string plan_file() { return PlanDatabase::of_process().file().string(); }

std::vector<StoredPlan> stored_plans() {
  std::vector<StoredPlan> all;
  for (auto& [key, plan] : PlanDatabase::of_process().plans()) all.push_back(plan);
  return all;
}

std::size_t merge_plans(const std::vector<std::string>& files) {
  std::vector<StoredPlan> all;
  for (const std::string& file : files) {
    // Any other reason why it is not found is told by the attempt to read it.
    std::error_code error;
    if (!fs::exists(file, error) && !error) fail(ErrorCode::environment, "cannot read {}: it does not exist", file);
    for (const auto& [key, plan] : read_plans(file)) all.push_back(plan);
  }
  return PlanDatabase::of_process().record(all);
}

std::size_t export_plans(const std::string& file) {
  // A link that leads nowhere counts as well.
  std::error_code error;
  if (fs::exists(fs::symlink_status(file, error)))
    fail(ErrorCode::usage, "{} exists and is not written over; valid: a new file", file);
  const Plans plans = PlanDatabase::of_process().plans();
  write_plans(file, plans);
  return plans.size();
}

std::size_t forget_plans(const Problem& problem) {
  std::vector<std::string> spellings;
  for (const Task& task : tasks_of(problem)) spellings.push_back(spell(task.problem));
  return PlanDatabase::of_process().forget(spellings);
}

}  // namespace tapconv
