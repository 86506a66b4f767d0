import BenchmarkSupport
import Testing

@Suite struct SystemCallTraceTests {
  /// A commit as LMDB makes it, and one with calls that another thread's call interrupted.
  private static let trace = """
    10 openat(AT_FDCWD</w>, "/w/s/data", O_RDWR|O_CLOEXEC) = 5</w/s/data>
    10 openat(AT_FDCWD</w>, "/w/s/data", O_RDWR|O_DSYNC|O_CLOEXEC) = 6</w/s/data>
    10 pwrite64(5</w/s/data>, "before"..., 4096, 0) = 4096
    10 write(7</dev/null>, "kvclone-benchmark-begin", 23) = 23
    10 pwrite64(5</w/s/data>, "x"..., 8192, 8192) = 8192
    10 fdatasync(5</w/s/data> <unfinished ...>
    11 write(1</w/out>, "elsewhere", 9) = 9
    10 <... fdatasync resumed>) = 0
    10 pwrite64(6</w/s/data>, "m"..., 120, 0) = 120
    10 write(7</dev/null>, "kvclone-benchmark-end", 21) = 21
    10 fdatasync(5</w/s/data>) = 0
    """

  @Test func countsWhatLiesBetweenTheMarksAndConcernsTheFolder() {
    let trace = SystemCallTrace(Self.trace, folder: "/w/s")
    #expect(trace.counts == ["pwrite64": 2, "fdatasync": 1])
    #expect(trace.bytesWritten == 8_312)
    #expect(trace.syncCount == 2)
    #expect(trace.reachesDisk)
  }

  @Test func aDescriptorWhoseNumberIsGivenAwayNoLongerWritesThrough() {
    let opened = #"10 openat(AT_FDCWD</w>, "/w/s/log", O_RDWR|O_CLOEXEC) = 6</w/s/log>"#
    let text = Self.trace.replacing(
      "10 pwrite64(5</w/s/data>, \"before\"", with: opened + "\n10 pwrite64(5</w/s/data>, \"before\"")
    #expect(SystemCallTrace(text, folder: "/w/s").syncCount == 1)
  }

  @Test func whatIsNotSyncedDoesNotReachTheDisk() {
    let text = Self.trace.split(separator: "\n").filter { !$0.contains("fdatasync") }.joined(separator: "\n")
    let trace = SystemCallTrace(text, folder: "/w/s")
    #expect(!trace.reachesDisk)
    #expect(trace.syncCount == 1)
  }

  /// Two tasks share a sync; the last transaction of task 1 returns without one.
  private static let acknowledged = """
    10 openat(AT_FDCWD</w>, "/w/s/log", O_RDWR|O_CLOEXEC) = 5</w/s/log>
    10 write(7</dev/null>, "kvclone-benchmark-begin", 23) = 23
    10 pwrite64(5</w/s/log>, "x"..., 8192, 8192) = 8192
    10 fdatasync(5</w/s/log> <unfinished ...>
    11 pwrite64(5</w/s/log>, "x"..., 8192, 8192) = 8192
    10 <... fdatasync resumed>) = 0
    11 write(7</dev/null>, "kvclone-benchmark-ack-0", 23 <unfinished ...>
    10 write(8</dev/null>, "kvclone-benchmark-ack-1", 23) = 23
    11 <... write resumed>) = 23
    10 fdatasync(5</w/s/log>) = 0
    10 write(7</dev/null>, "kvclone-benchmark-ack-0", 23) = 23
    10 write(7</dev/null>, "kvclone-benchmark-ack-1", 23) = 23
    10 write(7</dev/null>, "kvclone-benchmark-ack-1", 23) = 23
    10 write(7</dev/null>, "kvclone-benchmark-end", 21) = 21
    """

  @Test func acknowledgementNeedsASyncThatBeganAfterTheOneBefore() {
    let trace = SystemCallTrace(Self.acknowledged, folder: "/w/s")
    #expect(trace.acknowledgements == 5)
    #expect(trace.unsyncedAcknowledgements == 1)
    let text = Self.acknowledged.replacing("10 fdatasync(5</w/s/log>) = 0\n", with: "")
    #expect(SystemCallTrace(text, folder: "/w/s").unsyncedAcknowledgements == 3)
  }
}
