#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tapconv/engine.hpp"

namespace tapconv {

/// A measured plan as the plan database keeps it. All but the last five fields say what it is a plan of; a plan is
/// found again only if all of them are the same.
struct StoredPlan {
  std::string problem;      ///< a plain problem in canonical spelling, dynamic sizes as such
  std::string input_dtype;  ///< of what the kernel reads: the problem's, or that of a value between two stages
  bool strided = false;     ///< tensors with any strides
  bool packed = false;      ///< weights packed beforehand
  std::string device_name;  ///< as the driver reports it
  int multiprocessors = 0;
  std::string version;  ///< of the library

  std::string solver, configuration;
  double measured_ms = 0;  ///< spaced median, cold L2
  bool alone = true;       ///< measured_ms is of this problem; else of a whole problem that it is a stage of
  std::string date;        ///< UTC, "2026-01-31T12:34:56Z"

  friend bool operator==(const StoredPlan&, const StoredPlan&) = default;
};

/// The file that plans are written to: the first of TAPCONV_PLAN_DB (a list with ':' between), else
/// $XDG_DATA_HOME/tapconv/plans.json, else ~/.local/share/tapconv/plans.json. The others of TAPCONV_PLAN_DB, or
/// tapconv/plans.json in the folders of XDG_DATA_DIRS, are read where the first has no plan. Empty if there is none: if
/// TAPCONV_PLAN_DB is set and empty, which turns the database off, or without a home.
[[nodiscard]] std::string plan_file();

/// Every plan that is found, of all these files, sorted by problem.
[[nodiscard]] std::vector<StoredPlan> stored_plans();

/// Adds the plans of other files to plan_file(). Of two plans of the same thing the newer stays; of two of one date the
/// one read last. Returns how many were added or replaced. Throws Error{environment} for a file that cannot be read or
/// written, Error{usage} for one that is no plan database, and then changes nothing.
std::size_t merge_plans(const std::vector<std::string>& files);

/// Writes stored_plans() to a new file. Returns how many. Throws Error{usage} if the file is there already,
/// Error{environment} if it cannot be written.
std::size_t export_plans(const std::string& file);

/// Removes the plans of a problem, of all devices and versions, from plan_file(). Returns how many.
std::size_t forget_plans(const Problem& problem);

/// What to tune, and for how long.
struct TuneRequest {
  Problem problem;
  Device device;           ///< a CUDA device
  double seconds = 10;     ///< for everything, compilation as well; 0.1 to 86400
  int top = 8;             ///< candidates of each solver, the best by its cost model; 1 to 1000
  bool any_order = false;  ///< also candidates that add products in another order than the default plan
  double idle_ms = 5;      ///< before each measurement; 0 to 1000
  std::uint64_t seed = 0;  ///< of the tensors
  Progress progress = {};
};

/// A candidate that was measured.
struct TunedCandidate {
  std::string solver, configuration, k_order;
  double predicted_ms = 0;
  double measured_ms = 0;    ///< spaced median of the whole problem, cold L2
  int rounds = 0;            ///< that it was measured in
  bool is_default = false;   ///< the cost models' choice
  std::string problem = {};  ///< why it cannot be chosen; empty if it can
};

/// The candidates of one plain problem, best first.
struct TunedStage {
  StoredPlan best;
  std::vector<TunedCandidate> candidates;
  std::size_t untried = 0;  ///< candidates for which no time was left, or that add in another order
};

/// What tune() found and stored.
struct TuneReport {
  Problem problem;
  Device device;
  std::string device_name;
  std::vector<TunedStage> stages;
  std::string file;     ///< that the plans were written to
  double seconds = 0;   ///< that it took
  bool correct = true;  ///< no candidate of the default plan's k_order had other bits than the default plan
};

/// Measures the best candidates of each solver and stores the fastest in plan_file(), for plan() and everything that
/// computes in later processes. The outputs of a chosen candidate whose k_order is the default plan's are equal to that
/// plan's bit by bit, or it is not chosen. Throws Error{usage} but for CUDA devices and for a file that is no plan
/// database, Error{environment}, as without a CUDA device, Error{memory}.
[[nodiscard]] TuneReport tune(const TuneRequest& request);

}  // namespace tapconv
