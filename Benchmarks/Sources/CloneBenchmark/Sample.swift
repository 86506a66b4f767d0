/// What one clone took.
struct Sample {
  var seconds = 0.0
  /// Processor time of the process, which other work on the machine disturbs less than the clock.
  var processorSeconds = 0.0
  var objects = 0
  /// Growth of the process's anonymous memory at its peak, in bytes.
  var anonymousBytes = 0
  /// Bytes that the process had the disk read.
  var diskBytesRead = 0

  var nanosecondsPerObject: Double { seconds * 1e9 / Double(max(1, objects)) }
  var processorNanosecondsPerObject: Double { processorSeconds * 1e9 / Double(max(1, objects)) }
}
