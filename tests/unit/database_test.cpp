#include "plan/database.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "io/file.hpp"
#include "plan/planner.hpp"
#include "temporary_folder.hpp"

namespace tapconv {
namespace {

using testing::expect_error;

const DeviceModel& h200() { return known_device("h200"); }

Task task_of(const char* spelling) { return tasks_of(parse_problem(spelling)).front(); }

StoredPlan plan_of(const Task& task, const std::string& configuration,
                   const std::string& date = "2026-01-01T00:00:00Z") {
  StoredPlan plan = stored_plan(task, h200());
  plan.solver = "direct";
  plan.configuration = configuration;
  plan.measured_ms = 0.25;
  plan.date = date;
  return plan;
}

/// Puts environment variables back.
class KeptEnvironment {
 public:
  KeptEnvironment() {
    for (const char* name : {"TAPCONV_PLAN_DB", "XDG_DATA_HOME", "XDG_DATA_DIRS", "HOME"}) {
      const char* value = std::getenv(name);
      values_.emplace_back(name, value ? std::optional<std::string>(value) : std::nullopt);
    }
  }
  ~KeptEnvironment() {
    for (const auto& [name, value] : values_) {
      if (value)
        ::setenv(name, value->c_str(), 1);
      else
        ::unsetenv(name);
    }
  }
  KeptEnvironment(const KeptEnvironment&) = delete;
  KeptEnvironment& operator=(const KeptEnvironment&) = delete;

 private:
  std::vector<std::pair<const char*, std::optional<std::string>>> values_;
};

class DatabaseTest : public testing::TemporaryFolder {
 protected:
  [[nodiscard]] PlanDatabase open(std::initializer_list<const char*> names) const {
    std::vector<std::filesystem::path> files;
    for (const char* name : names) files.emplace_back(path(name));
    return PlanDatabase(std::move(files));
  }

  const Task task_ = task_of("Conv2d(8, 16, 3) @ 4x8x40x40");
  const std::vector<Candidate> candidates_ = solvers().back()->candidates(task_, h200());
};

TEST_F(DatabaseTest, RemembersAcrossProcesses) {
  PlanDatabase first = open({"deep/below/plans.json"});
  const StoredPlan plan = plan_of(task_, candidates_.back().configuration);
  EXPECT_FALSE(first.find(plan_key(task_, h200())).has_value());
  EXPECT_EQ(1u, first.record(std::vector{plan}));
  EXPECT_EQ(plan, first.find(plan_key(task_, h200())));
  PlanDatabase second = open({"deep/below/plans.json"});
  EXPECT_EQ(plan, second.find(plan_key(task_, h200())));
  EXPECT_EQ(0u, second.record(std::vector{plan})) << "nothing changes";
}

TEST_F(DatabaseTest, APlanIsOfOneProblemDeviceAndVersionAlone) {
  PlanDatabase database = open({"plans.json"});
  const StoredPlan plan = plan_of(task_, "x");
  database.record(std::vector{plan});
  EXPECT_FALSE(database.find(plan_key(task_, known_device("h100"))).has_value());
  for (const char* other :
       {"Conv2d(8, 16, 3) @ 5x8x40x40", "Conv2d(8, 16, 3) @ 4?x8x40x40", "Conv2d(8, 16, 3, math=ieee) @ 4x8x40x40",
        "Conv2d(8, 16, 3, layout=channels_last) @ 4x8x40x40", "Conv2d(8, 16, 3, bias=False) @ 4x8x40x40"})
    EXPECT_FALSE(database.find(plan_key(task_of(other), h200())).has_value()) << other;
  Task strided = task_, packed = task_, mixed = task_;
  strided.strided = packed.packed = true;
  mixed.input_dtype = DType::float16;
  for (const Task& other : {strided, packed, mixed}) EXPECT_FALSE(database.find(plan_key(other, h200())).has_value());
  DeviceModel smaller = h200();
  --smaller.facts.multiprocessors;
  EXPECT_FALSE(database.find(plan_key(task_, smaller)).has_value());
  StoredPlan older = plan;
  older.version = "0.0.1";
  EXPECT_NE(plan_key(older), plan_key(plan));
  EXPECT_TRUE(database.find(plan_key(task_, h200())).has_value());
}

TEST_F(DatabaseTest, TheFirstFileHidesTheOthersAndAloneIsWritten) {
  open({"system.json"}).record(std::vector{plan_of(task_, "system", "2026-12-31T00:00:00Z")});
  PlanDatabase both = open({"user.json", "system.json"});
  EXPECT_EQ("system", both.find(plan_key(task_, h200()))->configuration);
  const std::string before = get("system.json");
  both.record(std::vector{plan_of(task_, "user", "2026-01-01T00:00:00Z")});
  EXPECT_EQ("user", both.find(plan_key(task_, h200()))->configuration) << "although it is older";
  EXPECT_EQ(before, get("system.json"));
  EXPECT_EQ(1u, both.plans().size());
  EXPECT_EQ(1u, both.forget(std::vector{spell(task_.problem)}));
  EXPECT_EQ("system", both.find(plan_key(task_, h200()))->configuration);
  EXPECT_EQ(0u, both.forget(std::vector{spell(task_.problem)}));
}

TEST_F(DatabaseTest, TheNewerOfTwoStaysAndOfOneDateTheLast) {
  Plans plans;
  EXPECT_TRUE(merge_plan(plans, plan_of(task_, "a", "2026-05-01T00:00:00Z")));
  EXPECT_FALSE(merge_plan(plans, plan_of(task_, "b", "2026-04-30T23:59:59Z")));
  EXPECT_EQ("a", plans.begin()->second.configuration);
  EXPECT_TRUE(merge_plan(plans, plan_of(task_, "c", "2026-05-01T00:00:00Z")));
  EXPECT_TRUE(merge_plan(plans, plan_of(task_, "d", "2026-05-01T00:00:01Z")));
  EXPECT_FALSE(merge_plan(plans, plan_of(task_, "d", "2026-05-01T00:00:01Z")));
  EXPECT_EQ("d", plans.begin()->second.configuration);
  EXPECT_EQ(1u, plans.size());
}

std::string repeated(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

const std::string start_of_file = "{\"format\": \"tapconv plans 1\", ";

TEST_F(DatabaseTest, AFileThatIsNoDatabaseIsToldOfOnceAndNeverWrittenOver) {
  const std::string deep = std::string(200000, '[') + std::string(200000, ']');
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[]"), std::string("null"), std::string("\0\0\0", 3),
        std::string("{\"format\": \"tapconv plans 2\", \"plans\": []}"), std::string("{\"plans\": []}"),
        start_of_file + "\"plans\": null}", start_of_file + "\"plans\": [1e999]}", std::string(100000, '['),
        start_of_file + "\"x\": " + deep + ", \"plans\": []}", start_of_file + "\"plans\": [" + deep + "]}",
        "{\"format\": " + deep + ", \"plans\": []}", start_of_file + "\"plans\": " + repeated("[{\"\\\"\": ", 50000),
        "{\"format\": \"" + std::string(1000000, 'x') + "\", \"plans\": []}", "{\"" + std::string(1000000, 'x')}) {
    const std::string beginning = text.substr(0, 100);
    put("plans.json", text);
    PlanDatabase database = open({"plans.json"});
    ::testing::internal::CaptureStderr();
    EXPECT_FALSE(database.find(plan_key(task_, h200())).has_value());
    EXPECT_EQ(0u, database.plans().size());
    const std::string told = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(std::string::npos, told.find("is no plan database")) << beginning;
    EXPECT_EQ(1, std::ranges::count(told, '\n')) << told;
    EXPECT_LT(told.size(), 600u) << beginning;
    expect_error(ErrorCode::usage, "is no plan database", [&] { database.expect_writable(); });
    expect_error(ErrorCode::usage, "is no plan database", [&] { database.record(std::vector{plan_of(task_, "x")}); });
    expect_error(ErrorCode::usage, "is no plan database", [&] { database.forget(std::vector{spell(task_.problem)}); });
    EXPECT_TRUE(text == get("plans.json")) << beginning;
  }
}

TEST_F(DatabaseTest, AWriteThatWouldFailIsToldBeforehand) {
  open({"new/plans.json"}).expect_writable();
  EXPECT_FALSE(std::filesystem::exists(path("new/plans.json")));
  EXPECT_EQ(1, std::distance(std::filesystem::directory_iterator(path("new")), {})) << "the lock alone";
  std::filesystem::create_symlink(path("nowhere"), path("dangling.json"));
  std::filesystem::create_symlink("loop.json", path("loop.json"));
  put("file", "");
  const std::string long_name = std::string(252, 'x');
  for (const char* name : {"dangling.json", "loop.json", "file/plans.json", long_name.c_str(), "/proc/plans.json"})
    EXPECT_THROW(PlanDatabase({std::filesystem::path(path("")) / name}).expect_writable(), Error) << name;
}

TEST_F(DatabaseTest, ALockThatStaysTakenIsAnErrorAfterAWhile) {
  const io::Descriptor held(::open(path("plans.json.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  ASSERT_EQ(0, ::flock(held.get(), LOCK_EX));
  PlanDatabase database({path("plans.json")}, std::chrono::milliseconds(50));
  expect_error(ErrorCode::environment, "another process has held it for 0.05 s", [&] { database.expect_writable(); });
  expect_error(ErrorCode::environment, "plans.json.lock", [&] { database.record(std::vector{plan_of(task_, "x")}); });
  ASSERT_EQ(0, ::flock(held.get(), LOCK_UN));
  EXPECT_EQ(1u, database.record(std::vector{plan_of(task_, "x")}));
}

TEST_F(DatabaseTest, MergingAFileThatCannotBeFoundSaysWhy) {
  std::filesystem::create_symlink("loop.json", path("loop.json"));
  expect_error(ErrorCode::environment, "does not exist", [&] { merge_plans({path("none.json")}); });
  expect_error(ErrorCode::environment, "cannot open", [&] { merge_plans({path(std::string(300, 'x'))}); });
  expect_error(ErrorCode::environment, "cannot open", [&] { merge_plans({path("loop.json")}); });
}

TEST_F(DatabaseTest, ACorruptLayerDoesNotHideTheOthers) {
  open({"system.json"}).record(std::vector{plan_of(task_, "system")});
  put("user.json", "garbage");
  PlanDatabase database = open({"user.json", "system.json"});
  ::testing::internal::CaptureStderr();
  EXPECT_TRUE(database.find(plan_key(task_, h200())).has_value());
  (void)::testing::internal::GetCapturedStderr();
}

TEST_F(DatabaseTest, WithoutAFileNothingIsWritten) {
  PlanDatabase none({});
  EXPECT_EQ(0u, none.plans().size());
  expect_error(ErrorCode::environment, "set TAPCONV_PLAN_DB", [&] { none.record(std::vector{plan_of(task_, "x")}); });
}

TEST_F(DatabaseTest, BehindAnEmptyFirstFileTheOthersAreOnlyRead) {
  open({"system.json"}).record(std::vector{plan_of(task_, "system")});
  PlanDatabase database({"", path("system.json")});
  EXPECT_EQ("system", database.find(plan_key(task_, h200()))->configuration);
  expect_error(ErrorCode::environment, "no plan database to write", [&] { database.expect_writable(); });
  expect_error(ErrorCode::environment, "no plan database to write",
               [&] { database.forget(std::vector{spell(task_.problem)}); });
}

TEST_F(DatabaseTest, AFolderThatCannotBeMadeIsAnError) {
  put("file", "");
  PlanDatabase database = open({"file/plans.json"});
  EXPECT_THROW(database.record(std::vector{plan_of(task_, "x")}), Error);
}

TEST_F(DatabaseTest, ProcessesThatWriteAtTheSameTimeLoseNothing) {
  constexpr int processes = 4, plans = 12;
  for (int process = 0; process < processes; ++process) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child > 0) continue;
    int failures = 0;
    for (int i = 0; i < plans; ++i) {
      Task task = task_;
      task.problem.batch = 1 + process * plans + i;
      try {
        open({"plans.json"}).record(std::vector{plan_of(task, "x")});
      } catch (const Error&) {
        ++failures;
      }
    }
    ::_exit(failures);
  }
  for (int process = 0; process < processes; ++process) {
    int status = 0;
    ASSERT_GT(::wait(&status), 0);
    EXPECT_EQ(0, status);
  }
  EXPECT_EQ(static_cast<std::size_t>(processes * plans), read_plans(path("plans.json")).size());
  EXPECT_EQ(2, entries()) << "the file and its lock; no temporary files";
}

TEST_F(DatabaseTest, ChoosesWhatWasMeasured) {
  PlanDatabase database = open({"plans.json"});
  const Choice by_model = choose(task_, h200(), database);
  EXPECT_FALSE(by_model.tuned);
  EXPECT_EQ(by_model.solver->candidates(task_, h200()).front().configuration, by_model.candidate.configuration);
  database.record(std::vector{plan_of(task_, candidates_.back().configuration)});
  const Choice measured = choose(task_, h200(), database);
  EXPECT_TRUE(measured.tuned);
  EXPECT_EQ(candidates_.back().configuration, measured.candidate.configuration);
  EXPECT_EQ(candidates_.back().predicted_ms, measured.candidate.predicted_ms);
  EXPECT_EQ(solvers().size(), measured.verdicts.size());
}

TEST_F(DatabaseTest, AConfigurationThatIsNotLegalAnyMoreIsPassedOver) {
  for (const char* configuration : {"threads=7 pixels=7 channels=7", "", "garbage"}) {
    PlanDatabase database = open({"plans.json"});
    database.record(std::vector{plan_of(task_, configuration)});
    EXPECT_FALSE(choose(task_, h200(), database).tuned) << configuration;
  }
  PlanDatabase database = open({"other.json"});
  StoredPlan plan = plan_of(task_, candidates_.back().configuration);
  plan.solver = "no such solver";
  database.record(std::vector{plan});
  EXPECT_FALSE(choose(task_, h200(), database).tuned);
}

TEST_F(DatabaseTest, FilesFollowTheEnvironment) {
  const KeptEnvironment kept;
  const auto names = [] {
    std::vector<std::string> all;
    for (const auto& file : plan_files_of_environment()) all.push_back(file.string());
    return all;
  };
  ::setenv("TAPCONV_PLAN_DB", "/a/plans.json::/b.json", 1);
  EXPECT_EQ((std::vector<std::string>{"/a/plans.json", "/b.json"}), names());
  ::setenv("TAPCONV_PLAN_DB", ":/ro/plans.json:/b.json", 1);
  EXPECT_EQ((std::vector<std::string>{"", "/ro/plans.json", "/b.json"}), names()) << "nothing to write";
  ::setenv("XDG_DATA_HOME", "/home/x/data", 1);
  for (const char* none : {"", ":"}) {
    ::setenv("TAPCONV_PLAN_DB", none, 1);
    EXPECT_EQ(std::vector<std::string>{}, names()) << "off";
  }
  ::unsetenv("TAPCONV_PLAN_DB");
  ::setenv("XDG_DATA_DIRS", "/one:/two", 1);
  EXPECT_EQ((std::vector<std::string>{"/home/x/data/tapconv/plans.json", "/one/tapconv/plans.json",
                                      "/two/tapconv/plans.json"}),
            names());
  ::unsetenv("XDG_DATA_HOME");
  ::unsetenv("XDG_DATA_DIRS");
  ::setenv("HOME", "/home/y", 1);
  EXPECT_EQ((std::vector<std::string>{"/home/y/.local/share/tapconv/plans.json", "/usr/local/share/tapconv/plans.json",
                                      "/usr/share/tapconv/plans.json"}),
            names());
  ::unsetenv("HOME");
  EXPECT_EQ("", names().front()) << "nothing to write";
}

}  // namespace
}  // namespace tapconv
