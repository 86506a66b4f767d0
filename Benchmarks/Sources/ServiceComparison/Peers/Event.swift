import BenchmarkSupport
import ItemPeers

/// The object that one request of the service stores, with three attributes.
struct Event: Sendable {
  var sequence: Int
  var subject: String
  var body: String

  /// Derives the attributes from the number, so that the expected content of a store needs no memory.
  init(_ number: Int) {
    // Not sequential, so that index entries are inserted at random positions.
    sequence = number &* 48_271 % 2_147_483_647
    subject = "request \(number)"
    body = Self.bodies[number % Self.bodies.count]
  }

  init(sequence: Int, subject: String, body: String) {
    (self.sequence, self.subject, self.body) = (sequence, subject, body)
  }

  var digest: UInt64 {
    var mixer = Mixer()
    mixer.add(UInt64(bitPattern: Int64(sequence)))
    mixer.add(subject)
    mixer.add(body)
    return mixer.value
  }

  /// Texts of 120 bytes.
  private static let bodies: [String] = (1...61).map { step in
    let letters: [UInt8] = (0..<120).map { 97 + UInt8($0 * step % 26) }
    return String(decoding: letters, as: UTF8.self)
  }
}

extension RowSum {
  /// Adds the events with these numbers.
  mutating func add(events numbers: some Sequence<Int>) {
    for number in numbers { add(Event(number).digest) }
  }

  /// Compares the content of a store with the written events.
  func verify(_ title: String, events numbers: ClosedRange<Int>) throws {
    var expected = RowSum()
    expected.add(events: numbers)
    guard self == expected else {
      throw PeerFailure(
        "\(title) has \(grouped(rows)) events with the sum \(sum) instead of \(grouped(expected.rows)) with "
          + "\(expected.sum)")
    }
  }
}
