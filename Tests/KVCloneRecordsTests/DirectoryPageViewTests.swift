import Testing

@testable import KVCloneRecords

@Suite("Directory page, borrowed")
struct DirectoryPageViewTests {
  private let seed: UInt64 = 77

  private func page(_ count: Int) -> DirectoryPage {
    DirectoryPage((0..<count).map { .init(label: 1 << 63 + UInt64($0) << 32, memberCount: UInt32(128 - $0 % 3)) })
  }

  @Test(arguments: [1, 2, 127, 128])
  func showsWhatThePageHas(count: Int) throws {
    let page = page(count)
    let value = page.encoded(seed: seed)
    #expect(DirectoryPageView.encode(page.entries, seed: seed) == value)
    let view = try DirectoryPageView(value.span.bytes, seed: seed, position: 1 << 63)
    #expect(view.entries == page.entries)
    #expect(view.memberCount == page.entries.reduce(0) { $0 + Int($1.memberCount) })
  }

  @Test func hasTheFormatsBytes() throws {
    let page = DirectoryPage([.init(label: 0x0102_0304_0506_0708, memberCount: 0x80)])
    var value: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1, 0x80, 0, 0, 0]
    value.withUnsafeMutableBytes { ValueEnvelope.seal($0, seed: seed) }
    #expect(page.encoded(seed: seed) == value)
    #expect(
      try DirectoryPageView(value.span.bytes, seed: seed, position: 0x0102_0304_0506_0708).entries == page.entries)
  }

  @Test func refusesWhatIsNoPage() {
    func isRefused(_ value: [UInt8], position: UInt64 = 1 << 63) -> Bool {
      do throws(RecordError) {
        _ = try DirectoryPageView(value.span.bytes, seed: seed, position: position).entries
        return false
      } catch {
        return true
      }
    }
    let sound = page(5).encoded(seed: seed)
    #expect(!isRefused(sound))
    #expect(isRefused(sound, position: 3))
    for bit in 0..<sound.count * 8 {
      var flipped = sound
      flipped[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(isRefused(flipped))
      // With a new checksum, a wrong count, flag or order must be detected by its meaning; a wrong member count cannot
      // be.
      flipped.withUnsafeMutableBytes { ValueEnvelope.seal($0, seed: seed) }
      if (64..<96).contains(bit) { #expect(isRefused(flipped)) }
    }
    for length in 0..<sound.count {
      var cut = Array(sound.prefix(length))
      #expect(isRefused(cut))
      if length >= 8 { cut.withUnsafeMutableBytes { ValueEnvelope.seal($0, seed: seed) } }
      #expect(isRefused(cut))
    }
  }
}
