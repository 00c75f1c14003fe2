#pragma once

#include <memory>
#include <utility>

#include "engine/session.hpp"

namespace tapconv::testing {

/// Another session under this name: what a test plants is overridden.
class ForwardingSession : public Session {
 public:
  explicit ForwardingSession(std::unique_ptr<Session> inner) : Session(inner->problem()), inner_(std::move(inner)) {}

  [[nodiscard]] std::string device_name() const override { return inner_->device_name(); }
  void fill(const Recipes& recipes) override { inner_->fill(recipes); }
  void upload(const Operands& operands) override { inner_->upload(operands); }
  [[nodiscard]] Operands host_operands() override { return inner_->host_operands(); }
  void poison() override { inner_->poison(); }
  void upload_output(std::span<const std::byte> output) override { inner_->upload_output(output); }
  [[nodiscard]] Outputs gather(std::span<const std::int64_t> outputs) override { return inner_->gather(outputs); }
  [[nodiscard]] std::vector<OracleOutput> evaluate(std::span<const std::int64_t> outputs,
                                                   OperandRounding rounding) override {
    return inner_->evaluate(outputs, rounding);
  }
  [[nodiscard]] Tensor download() override { return inner_->download(); }
  Executable& engine() override { return inner_->engine(); }
  [[nodiscard]] std::unique_ptr<Executable> engine_by(const Chooser& chooser) override {
    return inner_->engine_by(chooser);
  }
  [[nodiscard]] std::vector<std::unique_ptr<Executable>> references(const std::string& library) override {
    return inner_->references(library);
  }
  [[nodiscard]] std::unique_ptr<Executable> default_reference(const std::string& library) override {
    return inner_->default_reference(library);
  }
  void chill() override { inner_->chill(); }
  void hold() override { inner_->hold(); }
  [[nodiscard]] double time(Executable& executable) override { return inner_->time(executable); }
  void synchronize() override { inner_->synchronize(); }
  [[nodiscard]] Condition condition() override { return inner_->condition(); }

 private:
  std::unique_ptr<Session> inner_;
};

}  // namespace tapconv::testing
