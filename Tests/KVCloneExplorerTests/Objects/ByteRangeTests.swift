import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

/// Range headers come from clients, and may have any text.
@Suite(.bounded) struct ByteRangeTests {
  @Test(arguments: [
    (nil, ByteRange.whole), ("bytes=0-9", .part(0..<10)), ("bytes=90-", .part(90..<100)), ("bytes=-5", .part(95..<100)),
    ("bytes=-500", .part(0..<100)), ("bytes=99-99", .part(99..<100)), ("bytes=10-1000", .part(10..<100)),
    ("BYTES=1-2", .part(1..<3)), ("bytes=100-", .unsatisfiable), ("bytes=-0", .unsatisfiable),
    ("bytes=5-4", .whole), ("bytes=0-1,3-4", .whole), ("bytes=-", .whole), ("bytes=", .whole), ("items=0-1", .whole),
    ("bytes=a-b", .whole), ("bytes=+1-2", .whole), ("bytes=0-18446744073709551616", .part(0..<100)),
    ("bytes=18446744073709551616-", .unsatisfiable), ("bytes=0-18446744073709551615", .part(0..<100)),
  ])
  func parses(header: String?, expected: ByteRange) {
    #expect(ByteRange(header, size: 100) == expected)
  }

  @Test("No range of an empty value can be satisfied", arguments: ["bytes=0-0", "bytes=-1", "bytes=0-"])
  func emptyValue(header: String) {
    #expect(ByteRange(header, size: 0) == .unsatisfiable)
  }
}
