/// A step of the benchmark returned something other than what was written.
package struct BenchError: Error {
  /// The step, such as "a clone".
  package let step: String
}
