#pragma once

#include <exception>
#include <future>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace tapconv::cuda {

/// Values that are made once. Threads that ask for one key while its value is being made wait for it; values of other
/// keys are made at the same time.
template <class Key, class Value, class Hash, class Equal>
class OnceMap {
 public:
  enum class Keeps {
    always,      ///< a value stays as long as the map
    while_made,  ///< it is given to those who asked while it was being made; the next to ask makes it anew
  };

  explicit OnceMap(Keeps keeps) : keeps_(keeps) {}

  /// The value of `key`, if need be from make(). `key` is anything that Hash and Equal take and a Key can be made of.
  /// What make() throws is in every future that was given meanwhile, and the next to ask makes the value anew. make()
  /// may not ask for the same key.
  template <class View, class Make>
  std::shared_future<Value> get(const View& key, const Make& make) {
    std::promise<Value> promise;
    const std::shared_future<Value> value = promise.get_future().share();
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = values_.find(key); found != values_.end()) return found->second;
      values_.emplace(Key(key), value);
    }
    try {
      Value made = make();
      if (keeps_ == Keeps::while_made) forget(key);
      promise.set_value(std::move(made));
    } catch (...) {
      forget(key);
      promise.set_exception(std::current_exception());
    }
    return value;
  }

 private:
  template <class View>
  void forget(const View& key) {
    const std::lock_guard lock(mutex_);
    if (const auto found = values_.find(key); found != values_.end()) values_.erase(found);
  }

  Keeps keeps_;
  std::mutex mutex_;
  std::unordered_map<Key, std::shared_future<Value>, Hash, Equal> values_;
};

}  // namespace tapconv::cuda
