import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneCore
@testable import KVCloneRecords

/// Integers of any length, least significant digit first in base 10: the reference for sums.
private struct Digits: Equatable {
  var isNegative = false
  var digits: [Int] = []

  init(_ text: String, shift: Int) {
    isNegative = text.hasPrefix("-")
    digits = Array(repeating: 0, count: shift) + text.reversed().compactMap { $0.wholeNumberValue }
    trim()
  }

  private mutating func trim() {
    while digits.last == 0 { digits.removeLast() }
    if digits.isEmpty { isNegative = false }
  }

  static func + (left: Digits, right: Digits) -> Digits {
    var sum = left
    let count = max(left.digits.count, right.digits.count) + 1
    var parts = (0..<count).map { place in
      (left.isNegative ? -1 : 1) * (place < left.digits.count ? left.digits[place] : 0)
        + (right.isNegative ? -1 : 1) * (place < right.digits.count ? right.digits[place] : 0)
    }
    sum.isNegative = (parts.last { $0 != 0 } ?? 0) < 0
    if sum.isNegative { parts = parts.map { -$0 } }
    for place in parts.indices.dropLast() {
      let carry = parts[place] >= 0 ? parts[place] / 10 : -((9 - parts[place]) / 10)
      parts[place] -= carry * 10
      parts[place + 1] += carry
    }
    sum.digits = parts
    sum.trim()
    return sum
  }

  /// The number of digits without trailing zeros of the decimal.
  var length: Int { digits.drop { $0 == 0 }.count }
}

@Suite("Exact sums")
struct ExactSumTests {
  private static let shift = 140

  private func digits(_ number: Decimal) -> Digits {
    let text = number.significand.magnitude.description
    return Digits((number < 0 ? "-" : "") + text, shift: Self.shift + number.exponent)
  }

  private func random(_ generator: inout SeededGenerator) -> Decimal {
    let count = Int.random(in: 1...38, using: &generator)
    let text = (0..<count).map { _ in String(Int.random(in: 0...9, using: &generator)) }.joined()
    let exponent =
      Bool.random(using: &generator)
      ? Int.random(in: -20...5, using: &generator) : Int.random(in: -128...89, using: &generator)
    let number = Decimal(sign: .plus, exponent: exponent, significand: Decimal(string: text) ?? 0)
    return Bool.random(using: &generator) ? number : -number
  }

  @Test("decimals of any exponents are added without losing a digit; a rounded sum has 38 digits, and shows it")
  func decimals() {
    let seed = UInt64.random(in: 0 ... .max)
    var generator = SeededGenerator(seed: seed)
    for round in 0..<400 {
      var numbers = (0..<Int.random(in: 1...12, using: &generator)).map { _ in random(&generator) }
      // Removed values leave no trace.
      if round % 3 == 0 { numbers += numbers.dropFirst().map { -$0 } }
      numbers.shuffle(using: &generator)
      var sum = DecimalSum()
      for number in numbers { sum.add(number) }
      let expected = numbers.reduce(Digits("0", shift: 0)) { $0 + digits($1) }
      guard let value = sum.value else {
        Issue.record("no sum, seed \(seed)")
        continue
      }
      if expected.length <= 38 {
        #expect(digits(value) == expected, "\(numbers), seed \(seed)")
      } else {
        let last = expected.digits.count - DecimalDigits.precision
        var rest = digits(-value) + expected
        rest.isNegative = false
        let twice = rest + rest
        #expect(
          twice.digits.count <= last || twice == Digits("1", shift: last)
            || rest.digits.count <= last && digits(value).length == 38 && !value.isShort,
          "not the nearest of 38 digits: \(numbers), seed \(seed)")
      }
      var again = DecimalSum()
      for number in numbers.reversed() { again.add(number) }
      #expect(again.value == value, "the order counts: \(numbers), seed \(seed)")
    }
  }

  @Test("a rounded sum is the nearest, but never a short number, to which a change could be added")
  func roundedSums() {
    func sum(_ texts: String...) -> String? {
      var sum = DecimalSum()
      for text in texts { sum.add(Decimal(string: text) ?? .nan) }
      return sum.value?.description
    }
    let nines = String(repeating: "9", count: 38)
    #expect(sum(nines, "1", "1") == "1" + String(repeating: "0", count: 38))
    #expect(sum(nines, "1", "4", "-\(nines)") == "5")
    #expect(sum("100000000000000000", "1e-30") == "100000000000000000.00000000000000000001")
    #expect(sum("100000000000000000", "-1e-30") == "99999999999999999.999999999999999999999")
    #expect(sum("100000000000000000", "1e-30", "-1e-30") == "100000000000000000")
    #expect(sum("1e127", "1e-128") == Decimal(string: "1e127")?.description)
  }

  @Test("a product of any two decimals is rounded once, and does not trap")
  func products() {
    func product(_ left: String, _ right: String) -> Decimal? {
      DecimalDigits.product(Decimal(string: left) ?? .nan, Decimal(string: right) ?? .nan)
    }
    #expect(product("1e-70", "1e-70") == 0)
    #expect(product("1e-64", "1e-64") == Decimal(string: "1e-128"))
    #expect(product("5e-65", "1e-64") == 0 && product("6e-65", "1e-64") == Decimal(string: "1e-128"))
    #expect(
      product("1e127", "1e127") == nil
        && product("-1e127", "10") == nil)
    #expect(product("1e127", "NaN")?.isNaN == true)
    let long = "1.2345678901234567890123456789012345678e-60"
    #expect(product(long, long)?.description.hasSuffix("0152415788") == true)
    let seed = UInt64.random(in: 0 ... .max)
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<2_000 {
      let (one, other) = (random(&generator), random(&generator))
      let doubles = (Double(one.description) ?? 0) * (Double(other.description) ?? 0)
      guard let value = DecimalDigits.product(one, other) else {
        #expect(abs(doubles) > 1e126, "\(one) \(other), seed \(seed)")
        continue
      }
      let near = Double(value.description) ?? .nan
      #expect(abs(near - doubles) <= abs(doubles) * 1e-14 + 1e-128, "\(one) \(other), seed \(seed)")
    }
  }

  @Test("an average times its count is the sum, as far as 38 digits go")
  func averages() {
    let seed = UInt64.random(in: 0 ... .max)
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<300 {
      let numbers = (0..<Int.random(in: 1...9, using: &generator)).map { _ in random(&generator) }
      var sum = DecimalSum()
      for number in numbers { sum.add(number) }
      let count = Int64(numbers.count)
      guard let average = sum.average(count) else {
        Issue.record("no average, seed \(seed)")
        continue
      }
      let lastPlace = max(-128, digits(average).digits.count - 1 - Self.shift - 37)
      let product = (0..<count).reduce(Digits("0", shift: 0)) { sum, _ in sum + digits(average) }
      let rest = product + numbers.reduce(Digits("0", shift: 0)) { $0 + digits(-$1) }
      // Half of the average's last digit, times the count of numbers, at most nine.
      #expect(rest.digits.count <= Self.shift + lastPlace + 1, "\(numbers), seed \(seed)")
    }
    var halves = DecimalSum()
    for text in ["12345678901234567890123456789012345678", "12345678901234567890123456789012345677"] {
      halves.add(Decimal(string: text) ?? 0)
    }
    // Halves go to the even digit.
    #expect(halves.average(2)?.description == "12345678901234567890123456789012345678")
    #expect(halves.average(1)?.description == "24691357802469135780246913578024691355")
  }

  @Test("an average of integers is rounded once")
  func averageIsRoundedOnce() {
    var average = QueryAggregate(.avg)
    for number: Int64 in [1, 2, 2] { average.add(.integer(number)) }
    guard case .double(let value) = average.value else {
      Issue.record("not a double")
      return
    }
    #expect(value == 5.0 / 3.0)
  }

  @Test("integers: sums and averages have 128 bits")
  func wholes() {
    let seed = UInt64.random(in: 0 ... .max)
    var generator = SeededGenerator(seed: seed)
    let edges: [Int64] = [.max, .min, .max - 1, .min + 1, 0, 1, -1, 1 << 53, 1 << 53 + 1]
    for _ in 0..<2_000 {
      let numbers = (0..<Int.random(in: 1...8, using: &generator)).map { _ in
        Bool.random(using: &generator)
          ? edges[Int.random(in: edges.indices, using: &generator)] : .random(in: .min ... .max, using: &generator)
      }
      var aggregate = [QueryAggregate(.sum), QueryAggregate(.avg)]
      for number in numbers {
        for index in aggregate.indices { aggregate[index].add(.integer(number)) }
      }
      let sum = numbers.reduce(Int128(0)) { $0 + Int128($1) }
      switch aggregate[0].value {
      case .integer(let value): #expect(Int128(value) == sum, "\(numbers), seed \(seed)")
      case .null: #expect(Int64(exactly: sum) == nil, "\(numbers), seed \(seed)")
      default: Issue.record("\(numbers), seed \(seed)")
      }
      let (quotient, rest) = sum.quotientAndRemainder(dividingBy: Int128(numbers.count))
      switch aggregate[1].value {
      case .double(let value):
        if rest == 0 { #expect(Int128(exactly: value) == quotient, "\(numbers), seed \(seed)") }
        #expect(abs(value - Double(sum) / Double(numbers.count)) <= value.ulp, "\(numbers), seed \(seed)")
      case .decimal(let value):
        // At most ten digits behind the point, so that a product with so few numbers rounds none.
        let product = value * Decimal(numbers.count)
        let exact = Decimal(string: sum.description) ?? 0
        #expect(
          (product - exact).magnitude < Decimal(sign: .plus, exponent: -15, significand: 1), "\(numbers), seed \(seed)")
      default: Issue.record("\(numbers), seed \(seed)")
      }
    }
  }

  @Test("a derived sum or average is what a request for the same expression gives, beyond 64 bits too")
  func derivedAsRequested() throws {
    let test = try TestStore(
      ManagedObjectModel("Sums") {
        EntityDescription("Account") {
          AttributeDescription("total", .integer64, derivation: "entries.@sum.amount")
          AttributeDescription("exact", .decimal, derivation: "entries.@sum.amount")
          AttributeDescription("real", .double, derivation: "entries.@sum.amount")
          AttributeDescription("mean", .integer64, derivation: "entries.@avg.amount")
          AttributeDescription("price", .decimal, derivation: "entries.@sum.price")
          AttributeDescription("weight", .double, derivation: "entries.@sum.weight")
          RelationshipDescription("entries", toMany: "Entry", inverse: "account")
        }
        EntityDescription("Entry") {
          AttributeDescription("amount", .integer64)
          AttributeDescription("price", .decimal)
          AttributeDescription("weight", .double)
          RelationshipDescription("account", toOne: "Account", inverse: "entries")
        }
      })
    let seed = UInt64.random(in: 0 ... .max)
    var generator = SeededGenerator(seed: seed)
    let edges: [Int64] = [.max, .min, .max - 1, 1, -1, 3]
    let account = try test.store.insert("Account")
    var entries: [ObjectID] = []
    for round in 0..<120 {
      let values: [String: AttributeValue?] = [
        "amount": .integer(edges[Int.random(in: edges.indices, using: &generator)]),
        "price": .decimal(random(&generator)), "weight": .double(.random(in: -1e18...1e18, using: &generator)),
      ]
      switch entries.count < 2 ? 0 : Int.random(in: 0...3, using: &generator) {
      case 0, 1: entries.append(try test.store.insert("Entry", values, relationships: ["account": [account]]))
      case 2: try test.store.delete([entries.remove(at: Int.random(in: entries.indices, using: &generator))])
      default:
        let id = entries[Int.random(in: entries.indices, using: &generator)]
        try test.store.write { tx in for (name, value) in values { try tx.set(id, name, value) } }
      }
      let differences = [
        "total == entries.@sum.amount", "price == entries.@sum.price", "weight == entries.@sum.weight",
        "mean == CAST(entries.@avg.amount, 'Integer 64')", "exact == entries.@sum.amount",
        "real == NULL AND entries.@sum.amount == NULL OR real != NULL AND entries.@sum.amount != NULL",
      ].filter { format in
        let request = FetchRequest("Account", predicate: try? QueryPredicate(format: format))
        return (try? test.store.read { try $0.count(request) }) != 1
      }
      #expect(differences == [], "round \(round), seed \(seed)")
      if round % 40 == 39 { try checked(test.store) }
    }
  }
}
