#pragma once

#include <chrono>
#include <filesystem>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "plan/plan_file.hpp"

namespace tapconv {

/// Measured plans in files, of which the first is written and the others are only read; a plan of an earlier file hides
/// those of later ones. A file is read when it is first needed, and again after each write of this object; one that
/// cannot be read is told of in one warning and counts as empty, but is never written over. Any number of threads and
/// processes may use one file at a time: none loses what another writes.
class PlanDatabase {
 public:
  /// An empty first path: nothing is written. A write waits for other processes at most `lock_wait`.
  explicit PlanDatabase(std::vector<std::filesystem::path> files,
                        std::chrono::milliseconds lock_wait = std::chrono::seconds(5))
      : files_(std::move(files)), lock_wait_(lock_wait) {}

  /// The one of plan_file() and what is under it.
  static PlanDatabase& of_process();

  /// The file that is written; empty if there is none, as without a home folder.
  [[nodiscard]] std::filesystem::path file() const;

  [[nodiscard]] std::optional<StoredPlan> find(const PlanKey& key);
  [[nodiscard]] Plans plans();

  /// Throws what a write would run into: Error{usage} if the file is there and no plan database, Error{environment} if
  /// there is none to write, it cannot be read, its lock stays taken, or no file can be made beside it. Makes its
  /// folder and its lock file.
  void expect_writable() const;

  /// Adds plans by merge_plan(), and returns how many changed something. Throws as expect_writable(), and
  /// Error{environment} if the file cannot be written.
  std::size_t record(std::span<const StoredPlan> plans);

  /// Removes the plans with these problems from the written file, and returns how many.
  std::size_t forget(std::span<const std::string> problems);

 private:
  /// Hands the file's plans to `change`, which returns how many it changed, and writes them if any; alone among
  /// processes.
  template <class Change>
  std::size_t rewrite(const Change& change);
  const Plans& loaded();

  std::vector<std::filesystem::path> files_;
  std::chrono::milliseconds lock_wait_;
  std::mutex mutex_;
  std::optional<Plans> plans_;
};

/// The files that the environment names, see plan_file().
[[nodiscard]] std::vector<std::filesystem::path> plan_files_of_environment();

}  // namespace tapconv
