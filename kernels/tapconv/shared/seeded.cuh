// Seeded tensors.
#pragma once

namespace tapconv::shared {

// Seeded tensors, the same on every device: element i of seed s is a function of (s, i) alone.
enum class Values {
  unit,     // [0, 1), 24 bits
  signed_,  // (-scale, scale)
  ties,     // +-[0.5, 1) * scale, 12 significant bits: every second one is a tie when rounded to TF32
};

struct Recipe {
  unsigned long long seed;
  Values values;
  float scale;  // of signed_ and ties
  float keep;   // the share of elements that is not zero
};

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
constexpr unsigned long long mix(unsigned long long z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

constexpr float seeded_value(const Recipe& recipe, long long index) {
  const unsigned long long bits =
      mix(mix(recipe.seed) + (static_cast<unsigned long long>(index) + 1) * 0x9e3779b97f4a7c15ull);
  // The low 24 bits decide whether the element is kept, the high 24 its value.
  if (recipe.keep < 1.0f && static_cast<float>(bits & 0xffffffu) * 0x1p-24f >= recipe.keep) return 0.0f;
  const unsigned value = static_cast<unsigned>(bits >> 40);
  switch (recipe.values) {
    case Values::unit:
      return static_cast<float>(value) * 0x1p-24f;
    case Values::signed_:
      return recipe.scale * (static_cast<float>(value) * 0x1p-23f - 1.0f);
    case Values::ties: {
      const float magnitude = static_cast<float>(2048u + (value >> 13)) * 0x1p-12f * recipe.scale;
      return value & 1u ? -magnitude : magnitude;
    }
  }
  return 0.0f;
}

}  // namespace tapconv::shared
