#include "workbench/worker.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>

#include "problem/text.hpp"

extern char** environ;

namespace tapconv {
namespace {

constexpr std::size_t longest_answer = std::size_t{64} << 20;
constexpr std::size_t longest_complaint = 400;

/// Closes both ends of a pair that the child got.
struct Ends {
  std::array<int, 2> ends{-1, -1};
  ~Ends() {
    for (const int end : ends) {
      if (end >= 0) close(end);
    }
  }
  int take(std::size_t which) { return std::exchange(ends[which], -1); }
};

}  // namespace

Worker::Worker(std::vector<std::string> command) : program_(command.at(0)) {
  Ends channel, errors;
  // A socket, since writing to a pipe that nobody reads any more would end this process.
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel.ends.data()) != 0 ||
      pipe2(errors.ends.data(), O_CLOEXEC | O_NONBLOCK) != 0)
    fail(ErrorCode::environment, "cannot start {}: {}", program_, std::strerror(errno));

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, channel.ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, channel.ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors.ends[1], STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::vector<char*> arguments;
  for (std::string& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  const int status = posix_spawnp(&pid_, program_.c_str(), &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (status != 0) fail(ErrorCode::environment, "cannot start {}: {}", program_, std::strerror(status));
  channel_ = channel.take(0);
  errors_ = errors.take(0);
}

Worker::~Worker() {
  close(channel_);
  close(errors_);
  if (pid_ <= 0) return;
  kill(-pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

std::string Worker::last_words() const {
  const std::size_t end = complaint_.find_last_not_of(" \n");
  if (end == std::string::npos) return {};
  const std::size_t newline = complaint_.rfind('\n', end);
  const std::size_t begin = newline == std::string::npos ? 0 : newline + 1;
  return fmt::format("; its last words: {}", complaint_.substr(begin, end + 1 - begin));
}

void Worker::keep_errors() {
  std::array<char, 4096> buffer{};
  for (ssize_t count = 0; (count = read(errors_, buffer.data(), buffer.size())) > 0;)
    complaint_.append(buffer.data(), static_cast<std::size_t>(count));
  if (complaint_.size() > longest_complaint) complaint_.erase(0, complaint_.size() - longest_complaint);
}

void Worker::fail_ended() {
  kill(-pid_, SIGKILL);  // it closed its output: whatever it does now, nobody waits for it
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  keep_errors();
  const std::string how =
      WIFEXITED(status) ? fmt::format("exit code {}", WEXITSTATUS(status)) : fmt::format("signal {}", WTERMSIG(status));
  fail(ErrorCode::environment, "{} ended with {}{}", program_, how, last_words());
}

std::string Worker::ask(const std::string& line, double timeout_s) {
  using Clock = std::chrono::steady_clock;
  if (pid_ <= 0) fail(ErrorCode::usage, "{} has ended", program_);
  const auto deadline = Clock::now() + std::chrono::duration<double>(timeout_s);
  const std::string request = line + "\n";
  std::size_t sent = 0;
  received_.clear();
  std::array<char, 65536> buffer{};
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) fail(ErrorCode::environment, "{} has not answered after {} s{}", program_, timeout_s, last_words());
    const auto wanted = static_cast<short>(sent < request.size() ? POLLIN | POLLOUT : POLLIN);
    std::array<pollfd, 2> waited{{{channel_, wanted, 0}, {errors_, POLLIN, 0}}};
    if (poll(waited.data(), waited.size(), static_cast<int>(left)) < 0 && errno != EINTR)
      fail(ErrorCode::environment, "cannot wait for {}: {}", program_, std::strerror(errno));
    if (waited[1].revents & POLLIN) {
      keep_errors();
    } else if (waited[1].revents != 0) {
      close(std::exchange(errors_, -1));  // poll() would not wait any more; it passes over negative numbers
    }
    if (waited[0].revents & POLLOUT) {
      const ssize_t count = send(channel_, request.data() + sent, request.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count > 0) sent += static_cast<std::size_t>(count);
    }
    if (waited[0].revents & (POLLIN | POLLHUP | POLLERR)) {
      const ssize_t count = recv(channel_, buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) fail_ended();
      if (count > 0) received_.append(buffer.data(), static_cast<std::size_t>(count));
      if (received_.ends_with('\n')) break;
      if (received_.size() > longest_answer)
        fail(ErrorCode::environment, "{} answers with more than {} bytes", program_, longest_answer);
    }
  }
  received_.pop_back();
  return received_;
}

}  // namespace tapconv
