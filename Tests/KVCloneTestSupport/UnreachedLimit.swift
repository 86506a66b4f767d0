extension Duration {
  /// A time limit that no test reaches.
  ///
  /// All asynchronous tests begin before the first one ends, and tests that block take the threads. So each `await` can
  /// take as long as the whole run, which is many minutes on a busy machine. A test that is not about a limit sets this
  /// one.
  package static var unreached: Self { .seconds(7 * 24 * 3600) }
}
