//! Pretence: an engine made of values, for tests, dry runs and simulations.
