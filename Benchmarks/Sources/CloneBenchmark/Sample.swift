/// The measurements of one clone.
struct Sample {
  var seconds = 0.0
  /// Processor time of the process, which depends less on other work on the machine than elapsed time.
  var processorSeconds = 0.0
  var objects = 0
  /// The peak growth of the process's anonymous memory, in bytes.
  var anonymousBytes = 0
  /// Bytes that the process read from the disk.
  var diskBytesRead = 0

  var nanosecondsPerObject: Double { seconds * 1e9 / Double(max(1, objects)) }
  var processorNanosecondsPerObject: Double { processorSeconds * 1e9 / Double(max(1, objects)) }
}
