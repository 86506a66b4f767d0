import Foundation
import KVCloneModel
import KVCloneTestSupport
import Testing

/// Valid and invalid dates, in all places that read dates.
struct CalendarTextReadTests {
  @Test(
    "every text that RFC 3339 allows is read",
    arguments: [
      ("2001-01-01T00:00:00Z", 0), ("2001-01-01t00:00:00z", 0), ("2001-01-01T00:00:00+00:00", 0),
      ("2001-01-01T00:00:00-00:00", 0), ("2001-01-01T23:59:00+23:59", 0), ("2000-12-31T00:01:00-23:59", 0),
      ("0000-01-01T00:00:00Z", -63_145_526_400), ("9999-12-31T23:59:59.999Z", 252_423_993_599.999),
      ("0000-02-29T00:00:00Z", -63_140_428_800), ("2000-02-29T00:00:00Z", -26_524_800),
      ("2001-01-01T00:00:00.5Z", 0.5), ("2000-12-31T23:59:59.75Z", -0.25), ("2001-01-01T00:00:00.000Z", 0),
      ("2026-01-31T12:00:00.123456Z", 791_553_600.123456), ("2026-01-31T12:00:00.1234567890123Z", 791_553_600.1234568),
    ] as [(String, Double)])
  func known(_ text: String, _ seconds: Double) {
    #expect(CalendarText.secondsSince2001(text) == seconds)
  }

  @Test(
    "what is none is refused, and told where",
    arguments: [
      ("", 1), ("2020", 5), ("2020-01-01", 11), ("2020-01-01T00:00:00", 20), ("2020-01-01 00:00:00Z", 11),
      ("2020-02-30T00:00:00Z", 9), ("2019-02-29T00:00:00Z", 9), ("1900-02-29T00:00:00Z", 9),
      ("2020-00-01T00:00:00Z", 6),
      ("2020-13-01T00:00:00Z", 6), ("2020-04-31T00:00:00Z", 9), ("2020-01-00T00:00:00Z", 9),
      ("2020-01-01T24:00:00Z", 12),
      ("2020-01-01T25:00:00Z", 12), ("2020-01-01T00:60:00Z", 15), ("2020-01-01T00:00:60Z", 18),
      ("1990-12-31T23:59:60Z", 18), ("2020-01-01T00:00:61Z", 18), ("2020-01-01T00:00Z", 17),
      ("2020-01-01T00:00:00.Z", 21),
      ("2020-01-01T00:00:00,5Z", 20), ("2020-01-01T00:00:00+25:00", 21), ("2020-01-01T00:00:00+24:00", 21),
      ("2020-01-01T00:00:00+01:60", 24), ("2020-01-01T00:00:00+0100", 23), ("2020-01-01T00:00:00+01", 23),
      ("2020-01-01T00:00:00Zjunk", 21), ("2020-01-01T00:00:00Z OR 1 == 1", 21), ("2020-01-01T00:00:00Z\n", 21),
      (" 2020-01-01T00:00:00Z", 1), ("+2020-01-01T00:00:00Z", 1), ("-0001-01-01T00:00:00Z", 1),
      ("10000-01-01T00:00:00Z", 5), ("٢٠٢٠-01-01T00:00:00Z", 1), ("2020-01-01T00:00:00.５Z", 21),
      ("2020-1-01T00:00:00Z", 7), ("2020-01-01T0:00:00Z", 13), ("20200101T000000Z", 5), ("2020-W01-1T00:00:00Z", 6),
      ("January 1, 2010", 1), ("nonsense", 1), ("2020-01-01T00:00:00\u{301}Z", 20),
    ])
  func refused(_ text: String, _ column: Int) {
    guard case .failure(let problem) = CalendarText.read(text) else {
      Issue.record("\(text) is read")
      return
    }
    #expect(problem.column == column, "\(text): \(problem)")
  }

  @Test("a fraction may have any number of digits, and is rounded once", arguments: [1, 8, 9, 10, 17, 1_200, 20_000])
  func longFractions(_ count: Int) {
    for digit in ["3", "9", "5"] {
      let fraction = String(repeating: digit, count: count)
      #expect(CalendarText.secondsSince2001("2001-01-01T00:00:07.\(fraction)Z") == Double("7.\(fraction)"))
      #expect(CalendarText.secondsSince2001("2026-01-31T12:00:00.\(fraction)Z") == Double("791553600.\(fraction)"))
    }
  }

  /// Counts days and seconds one by one, like a wall calendar.
  @Test("a reader that counts days one by one agrees on every month, and on what does not exist")
  func calendar() {
    var day: Int64 = -730_851
    for year in 0...850 {
      let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
      for (index, length) in [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31].enumerated() {
        let month = pad(year, 4) + "-" + pad(index + 1, 2)
        #expect(CalendarText.startOfDay("\(month)-01") == Double(day * 86_400), "\(month)")
        day += Int64(length)
        #expect(CalendarText.secondsSince2001("\(month)-\(length)T23:59:59Z") == Double(day * 86_400 - 1), "\(month)")
        #expect(CalendarText.secondsSince2001("\(month)-\(length + 1)T00:00:00Z") == nil, "\(month)")
      }
    }
  }

  @Test("times of day, offsets and fractions are added up as numbers")
  func sums() {
    let seed = UInt64.random(in: 0 ... .max)
    var random = SeededGenerator(seed: seed)
    for _ in 0..<5_000 {
      let day = Int64.random(in: -700_000...2_900_000, using: &random)
      let parts = [24, 60, 60].map { Int.random(in: 0..<$0, using: &random) }
      let digits = Int.random(in: 1...6, using: &random)
      let part =
        Int.random(in: 0..<1_000_000, using: &random) % [10, 100, 1_000, 10_000, 100_000, 1_000_000][digits - 1]
      let offset = Int.random(in: -1_439...1_439, using: &random)
      guard let text = CalendarText.text(secondsSince2001: Double(day * 86_400)) else { continue }
      let sign = offset < 0 ? "-" : "+"
      let zone = sign + pad(abs(offset) / 60, 2) + ":" + pad(abs(offset) % 60, 2)
      let time = "\(pad(parts[0], 2)):\(pad(parts[1], 2)):\(pad(parts[2], 2)).\(pad(part, digits))"
      let minutes: Int = parts[0] * 60 + parts[1] - offset
      let whole = day * 86_400 + Int64(minutes * 60 + parts[2])
      let expected = Decimal(whole) + Decimal(sign: .plus, exponent: -digits, significand: Decimal(part))
      #expect(
        CalendarText.secondsSince2001("\(text.prefix(10))T\(time)\(zone)") == Double(expected.description),
        "\(text.prefix(10))T\(time)\(zone), seed \(seed)")
    }
  }

  private func pad(_ number: Int, _ width: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: width - text.count) + text
  }
}
