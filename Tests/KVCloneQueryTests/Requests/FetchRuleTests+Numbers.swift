import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@Suite("Fetch rules: numbers, dates, bytes and objects")
struct FetchNumberRuleTests {
  let f: FetchStore

  init() throws { f = try FetchStore() }

  @Test("numbers are compared as numbers, whatever their types")
  func types() throws {
    try f.add(
      "a", ["small": 3, "medium": 3, "big": 3, "ratio": 3.0, "weight": .float(3), "price": decimalValue("3.00")])
    let attributes = ["small", "medium", "big", "ratio", "weight", "price"]
    for one in attributes {
      for other in attributes {
        #expect(try f.find("\(one) == \(other)") == "a")
        #expect(try f.find("\(one) <= \(other) AND \(one) >= \(other)") == "a")
        #expect(try f.find("\(one) < \(other) OR \(one) > \(other) OR \(one) != \(other)") == "")
      }
      #expect(try f.find("\(one) IN {1, 3.0}") == "a")
      #expect(try f.find("\(one) IN {1, 3.5}") == "")
      #expect(try f.find("\(one) BETWEEN {3, 3.0}") == "a")
      #expect(try f.find("\(one) BETWEEN {2.5, 3.5}") == "a")
      #expect(try f.find("\(one) BETWEEN {3.5, 2.5}") == "")
      #expect(try f.find("\(one) == %@", .value(decimalValue("3"))) == "a")
      #expect(try f.find("\(one) == 3e0") == "a")
    }
  }

  @Test("integers are compared with doubles exactly")
  func exact() throws {
    try f.add("a", ["big": 9_007_199_254_740_993, "ratio": 9_007_199_254_740_992.0])
    try f.add("b", ["big": .integer(.max), "ratio": 9_223_372_036_854_775_807.0])
    try f.add("c", ["big": .integer(.min), "ratio": -9_223_372_036_854_775_808.0])
    try f.add("d", ["big": .integer(.max), "ratio": .double(.infinity)])
    try f.add("e", ["big": .integer(.min), "ratio": .double(-.infinity)])
    try f.add("g", ["big": -3, "ratio": -2.5])
    try f.add("h", ["big": 0, "ratio": .double(-0.0)])
    #expect(try f.find("big == ratio") == "c h")
    #expect(try f.find("big > ratio") == "a e")
    #expect(try f.find("big < ratio") == "b d g")
    #expect(try f.find("ratio < big") == "a e")
    #expect(try f.find("big IN {9007199254740992.0}") == "")
    #expect(try f.find("big == 9223372036854775807") == "b d")
    #expect(try f.find("big == 9223372036854775808.0") == "")
    #expect(try f.find("ratio == 0") == "h")
  }

  @Test("doubles are compared with decimals by what the double prints")
  func decimals() throws {
    try f.add("a", ["price": decimalValue("0.1"), "ratio": 0.1])
    try f.add("b", ["price": decimalValue("0.3"), "ratio": .double(0.1 + 0.2)])
    try f.add("c", ["price": decimalValue("1e20"), "ratio": 1e20])
    try f.add("d", ["price": decimalValue("-1e20"), "ratio": .double(-.infinity)])
    try f.add("e", ["price": decimalValue("9007199254740993"), "big": 9_007_199_254_740_993])
    #expect(try f.find("price == ratio") == "a c")
    #expect(try f.find("price < ratio") == "b")
    #expect(try f.find("price > ratio") == "d")
    #expect(try f.find("price == big") == "e")
    #expect(try f.find("price == 0.1") == "a")
    #expect(try f.find("price IN {0.1, 0.3}") == "a b")
  }

  @Test("YES is 1 and NO is 0")
  func booleans() throws {
    try f.add("a", ["flag": true, "small": 1, "ratio": 1.0])
    try f.add("b", ["flag": false, "small": 1, "ratio": 0.5])
    #expect(try f.find("flag == YES") == "a")
    #expect(try f.find("flag == 1") == "a")
    #expect(try f.find("flag == FALSE") == "b")
    #expect(try f.find("flag == small") == "a")
    #expect(try f.find("flag < small") == "b")
    #expect(try f.find("flag > NO") == "a")
    #expect(try f.find("flag < ratio") == "b")
    #expect(try f.find("flag == %@", true) == "a")
    #expect(try f.find("small == YES") == "a b")
    #expect(try f.find("flag IN {0, 2}") == "b")
  }

  @Test("NaN equals NaN, and is neither less nor greater than anything")
  func notANumber() throws {
    try f.add("a", ["ratio": .double(.nan), "weight": .float(.nan), "price": .decimal(.nan), "small": 1])
    try f.add("b", ["ratio": 1.0, "weight": .float(1), "price": 1, "small": 1])
    for attribute in ["ratio", "weight", "price"] {
      #expect(try f.find("\(attribute) == \(attribute)") == "a b")
      #expect(try f.find("\(attribute) == ratio") == "a b")
      #expect(try f.find("\(attribute) == %@", .value(.double(.nan))) == "a")
      #expect(try f.find("\(attribute) != 1") == "a")
      #expect(try f.find("\(attribute) == small") == "b")
      #expect(try f.find("\(attribute) < 2") == "b")
      #expect(try f.find("\(attribute) > 0") == "b")
      #expect(try f.find("\(attribute) < \(attribute) OR \(attribute) > \(attribute)") == "")
      #expect(try f.find("NULL == \(attribute)") == "")
      #expect(try f.find("\(attribute) IN %@", .list([.value(.double(.nan)), 7])) == "a")
      #expect(try f.find("\(attribute) BETWEEN {0, 2}") == "b")
    }
  }

  // MARK: Arithmetic

  static let truths = [
    "1 + 2 * 3 == 7", "(1 + 2) * 3 == 9", "7 - 2 - 1 == 4", "2 ** 3 ** 2 == 512", "-2 + 3 == 1", "12 / 3 / 2 == 2",
    "7 / 2 == 3", "-7 / 2 == -3", "7 / -2 == -3", "7 / 2.0 == 3.5", "7.0 / 2 == 3.5", "1 / 3 == 0", "0.5 * 2 == 1",
    "1 / 0 == NULL", "1.5 / 0 == NULL", "0 / 0 == NULL", "0.0 / 0.0 == NULL", "1 / 0.0 == NULL", "NOT (1 / 0 > 0)",
    "9223372036854775807 + 1 == 9223372036854775808.0", "-9223372036854775807 - 2 == -9223372036854775809",
    "9223372036854775807 + 1 > 9223372036854775807", "9223372036854775807 + 2 == 9223372036854775809",
    "abs(-9223372036854775808) == 9223372036854775808", "-(-9223372036854775808) == 9223372036854775808",
    "-9223372036854775808 / -1 == 9223372036854775808", "modulus:by:(-9223372036854775808, -1) == 0",
    "-9223372036854775808 * -9223372036854775808 == 85070591730234615865843651857942052864",
    "9223372036854775807 * 9223372036854775807 == 85070591730234615847396907784232501249",
    "modulus:by:(9223372036854775807 + 2, 10) == 9", "3 ** 79 == 49269609804781974438694403402127765867",
    "3 ** 40 == 12157665459056928801", "3.0 ** 2 / 2 == 4.5",
    "CAST('1e-70', 'NSDecimalNumber') * CAST('1e-70', 'NSDecimalNumber') == 0",
    "CAST('1e100', 'NSDecimalNumber') * CAST('1e100', 'NSDecimalNumber') == NULL",
    "1.2345678901234567890123456789012345678e-60 * 1.2345678901234567890123456789012345678e-60 > 0",
    "9223372036854775808 ** 2 / 2 > 4e37",
    "10 ** 37 == 10000000000000000000000000000000000000",
    "sum({9223372036854775807, 3, -9223372036854775807}) == 3", "sum({9223372036854775807, 1}) == NULL",
    "average({9223372036854775807, 9223372036854775805}) == 9223372036854775806",
    "average({9223372036854775807, 9223372036854775806}) == 9223372036854775806.5",
    "median({9223372036854775807, 9223372036854775806, 0}) == 9223372036854775806",
    "12345678901234567890.12345678901234567 > 12345678901234567890.12345678901234566",
    "9007199254740993.0 == 9007199254740993", "0.1 + 0.2 != 0.3",
    "9223372036854775807 * 2 == 18446744073709551614", "9223372036854775806 + 1 == 9223372036854775807",
    "4611686018427387904 * 2 == 9223372036854775808", "3037000499 * 3037000499 == 9223372030926249001",
    "add:to:(1, 2) == 3", "from:subtract:(5, 2) == 3", "multiply:by:(3, 2) == 6", "divide:by:(7, 2) == 3",
    "modulus:by:(7, 3) == 1", "raise:toPower:(2, 10) == 1024", "abs(-3) == 3", "abs(-2.5) == 2.5",
    "floor(-1.5) == -2", "ceiling(-1.5) == -1", "trunc(-1.5) == -1", "floor(3) == 3", "sqrt(9) == 3", "exp(0) == 1",
    "ln(1) == 0", "log(100) == 2", "bitwiseAnd:with:(6, 3) == 2", "bitwiseOr:with:(6, 3) == 7",
    "bitwiseXor:with:(6, 3) == 5", "leftshift:by:(1, 4) == 16", "rightshift:by:(16, 4) == 1",
    "onesComplement(0) == -1", "sum({1, 2, 3}) == 6", "max({1, 3.5, 2}) == 3.5", "min({1, 3.5, 2}) == 1",
    "average({1, 2}) == 1.5", "count({1, 2, 2}) == 3", "median({3, 1, 2}) == 2", "FUNCTION(2, 'add:to:', 3) == 5",
    "TERNARY(1 < 2, 'a', 'b') == 'a'", "TERNARY(1 > 2, 'a', 'b') == 'b'", "now() > CAST(0, 'NSDate')",
    "lowercase('ABc') == 'abc'", "uppercase:('abC') == 'ABC'", "length('abc') == 3", "random() >= 0",
  ]

  @Test("the bits of an integral decimal are those of the integer")
  func bitsOfDecimals() throws {
    try f.add("a", ["price": decimalValue("9007199254740993")])
    try f.add("b", ["price": decimalValue("9007199254740993.5")])
    try f.add("c", ["price": decimalValue("9223372036854775807")])
    try f.add("d", ["price": decimalValue("9223372036854775808")])
    #expect(try f.find("price & 1 == 1") == "a c")
    #expect(try f.find("modulus:by:(price, 2) == 1") == "a c")
    #expect(try f.find("~price == NULL") == "b d")
  }

  @Test("arithmetic and functions of constants", arguments: truths)
  func constants(_ text: String) throws {
    try f.add("a")
    #expect(try f.find(text) == "a")
  }

  @Test("arithmetic of attributes")
  func attributes() throws {
    try f.add("a", ["small": 7, "medium": 2, "ratio": 0.5, "price": decimalValue("0.1"), "big": .integer(.max)])
    try f.add("b", ["small": -7, "medium": 0, "ratio": 0.0, "price": decimalValue("0"), "big": .integer(.min)])
    #expect(try f.find("small / medium == 3") == "a")
    #expect(try f.find("small / medium == NULL") == "b")
    #expect(try f.find("small / ratio == NULL") == "b")
    #expect(try f.find("small / ratio == 14") == "a")
    #expect(try f.find("small / price == NULL") == "b")
    #expect(try f.find("price + price + price == 0.3") == "a")
    #expect(try f.find("price * 3 == %@", .value(decimalValue("0.3"))) == "a")
    #expect(try f.find("big + small > big") == "a")
    #expect(try f.find("big + 1 == 9223372036854775808.0") == "a")
    #expect(try f.find("big - 1 == -9223372036854775809") == "b")
    #expect(try f.find("big * big > 1e37") == "a b")
    #expect(try f.find("small + medium * 2 == 11") == "a")
    #expect(try f.find("-small == 7") == "b")
    #expect(try f.find("small + 0.5 == 7.5") == "a")
  }

  // MARK: Dates, UUIDs, bytes

  @Test("dates are compared with dates, and take seconds")
  func dates() throws {
    try f.add("a", ["day": day(0), "ratio": 60.0])
    try f.add("b", ["day": day(60), "small": 60], ["parent": ["a"]])
    try f.add("c", ["day": day(-0.5)])
    #expect(try f.find("day == %@", .day(0)) == "a")
    #expect(try f.find("day < %@", .day(0)) == "c")
    #expect(try f.find("day BETWEEN {%@, %@}", .day(0), .day(60)) == "a b")
    #expect(try f.find("day IN %@", .list([.day(60), .day(-0.5)])) == "b c")
    #expect(try f.find("day == '2001-01-01T00:01:00Z'") == "b")
    #expect(try f.find("day >= '2001-01-01T00:00:00Z'") == "a b")
    #expect(try f.find("day < '2001-01-01T00:00:00+01:00'") == "")
    #expect(try f.find("day + 60 == %@", .day(60)) == "a")
    #expect(try f.find("day - small == %@", .day(0)) == "b")
    #expect(try f.find("day + ratio > parent.day") == "")
    #expect(try f.find("day - parent.day == 60") == "b")
    #expect(try f.find("day - %@ == -0.5", .day(0)) == "c")
    #expect(try f.find("day == CAST(60, 'NSDate')") == "b")
  }

  @Test("UUIDs are compared with UUIDs, and with texts that are taken for them")
  func uuids() throws {
    let text = "01234567-89AB-CDEF-0123-456789ABCDEF"
    let uuid = try #require(UUID(uuidString: text))
    try f.add("a", ["uid": .uuid(uuid)])
    try f.add("b", ["uid": .uuid(UUID())], ["parent": ["a"]])
    #expect(try f.find("uid == %@", .uuid(uuid)) == "a")
    #expect(try f.find("uid == '\(text)'") == "a")
    #expect(try f.find("'\(text.lowercased())' == uid") == "a")
    #expect(try f.find("uid IN {'\(text)'}") == "a")
    #expect(try f.find("uid != '\(text)'") == "b")
    #expect(try f.find("parent.uid == %@", .uuid(uuid)) == "b")
    #expect(try f.find("uid IN {'\(text)', parent.uid}") == "a")
    #expect(try f.find("parent.uid BETWEEN {'\(text)', parent.uid}") == "b")
    #expect(try f.find("uid != parent.uid") == "a b")
  }

  @Test("binary values are compared with their like, however large", arguments: [1, 1024, 1025, 5000, 200_000])
  func bytes(_ count: Int) throws {
    let data = Data(repeating: 7, count: count)
    try f.add("a", ["data": .binary(data), "archive": .transformable(data)])
    try f.add("b", ["data": .binary(data.dropLast() + [8])], ["parent": ["a"]])
    try f.add("c", ["data": .binary(data)], ["parent": ["a"]])
    try f.add("d", ["data": .binary(data + [0])], ["parent": ["a"]])
    #expect(try f.find("data == %@", .value(.binary(data))) == "a c")
    #expect(try f.find("data != %@", .value(.binary(data))) == "b d")
    #expect(try f.find("data == parent.data") == "c")
    #expect(try f.find("data IN %@", .list([.value(.binary(data)), nil])) == "a c")
    #expect(try f.find("archive == %@", .value(.transformable(data))) == "a")
    #expect(try f.find("data > parent.data") == "b d")
  }

  // MARK: Objects and composites

  @Test("objects are equal or not")
  func objects() throws {
    try f.add("a")
    try f.add("b", [:], ["parent": ["a"]], of: "Special")
    try f.add("c", [:], ["parent": ["a"]], of: "Box")
    #expect(try f.find("SELF == %@", f.object("b")) == "b")
    #expect(try f.find("SELF != %@", f.object("b")) == "a c")
    #expect(try f.find("parent == %@", f.object("a")) == "b c")
    #expect(try f.find("parent == '\(try f.name("a"))'") == "b c")
    #expect(try f.find("SELF == '\(try f.name("c"))'") == "c")
    #expect(try f.find("SELF IN %@", .list([f.object("c"), f.object("a")])) == "a c")
    #expect(try f.find("parent.parent == SELF") == "")
    #expect(try f.find("SELF == SELF") == "a b c")
    #expect(try f.find("parent IN {SELF, %@}", f.object("a")) == "b c")
    #expect(try f.find("parent IN {SELF, '\(try f.name("a"))'}") == "b c")
  }

  @Test("composites are equal or not")
  func composites() throws {
    try f.add("a", ["place": ["city": "Rome", "geo": ["lat": 1.0]]])
    try f.add("b", ["place": ["city": "Rome", "geo": ["lat": 1.0]]], ["parent": ["a"]])
    try f.add("c", ["place": ["city": "Rome", "geo": ["lat": 1.0, "lon": 0.0]]], ["parent": ["a"]])
    try f.add("d", [:], ["parent": ["a"]])
    #expect(try f.find("place == parent.place") == "b")
    #expect(try f.find("place != parent.place") == "a c d")
    #expect(try f.find("place.geo == parent.place.geo") == "b")
    #expect(try f.find("place == NULL") == "d")
    #expect(try f.find("place.city == 'Rome' AND place.geo.lon == NULL") == "a b")
    #expect(try f.find("place.geo.lat + 1 == 2") == "a b c")
    #expect(try f.find("place == %@", .value(["city": "Rome", "geo": ["lat": 1.0]])) == "a b")
  }

  @Test("a composite is nil where the store says so, and one within another is a composite too")
  func emptyComposites() throws {
    let places: [(String, AttributeValue?)] = [
      ("a", [:]), ("b", ["geo": [:]]), ("c", nil), ("d", ["city": ""]), ("e", ["geo": ["lat": 1.0]]),
    ]
    for (key, place) in places { try f.add(key, ["place": place]) }
    let none = try f.store.read { tx in try places.map(\.0).filter { try tx.object(f[$0])["place"] == nil } }
    #expect(try f.find("place == NULL") == none.joined(separator: " "))
    #expect(try f.find("place.city == NULL") == "a b c e")
    #expect(try f.find("place.geo != NULL") == "e")
  }
}
