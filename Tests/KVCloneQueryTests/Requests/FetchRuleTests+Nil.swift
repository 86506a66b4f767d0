import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@Suite("Fetch rules: nil")
struct FetchNilRuleTests {
  let f: FetchStore

  /// `a` and `b` have values, `n` has none.
  init() throws {
    f = try FetchStore()
    try f.add("a", Self.values(1))
    try f.add("b", Self.values(2), ["parent": ["a"]])
    try f.add("n")
  }

  static func values(_ number: Int64) -> [String: AttributeValue?] {
    let bytes = Data([UInt8(truncatingIfNeeded: number)])
    return [
      "name": .string(number == 1 ? "a" : "b"), "title": .string("t\(number)"), "small": .integer(number),
      "medium": .integer(number),
      "big": .integer(number), "ratio": .double(Double(number)), "weight": .float(Float(number)),
      "price": .decimal(Decimal(number)), "flag": .boolean(number == 1), "day": day(Double(number)),
      "uid": .uuid(UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, bytes[0]))), "link": .uri("x:\(number)"),
      "data": .binary(bytes), "archive": .transformable(bytes),
      "place": ["city": "Rome", "zip": .integer(number), "geo": ["lat": .double(Double(number))]],
    ]
  }

  static let attributes = values(1).keys.sorted()
  static let ordered = ["name", "small", "medium", "big", "ratio", "weight", "price", "flag", "day"]

  @Test("nil equals nil and nothing else", arguments: attributes)
  func equality(_ attribute: String) throws {
    #expect(try f.find("\(attribute) == NULL") == "n")
    #expect(try f.find("NIL = \(attribute)") == "n")
    #expect(try f.find("%K == %@", .init(stringLiteral: attribute), nil) == "n")
    #expect(try f.find("\(attribute) != NULL") == "a b")
    #expect(try f.find("\(attribute) == \(attribute)") == "a b n")
    #expect(try f.find("\(attribute) != parent.\(attribute)") == "a b")
  }

  @Test("nil differs from every value")
  func inequality() throws {
    #expect(try f.find("name != 'a'") == "b n")
    #expect(try f.find("small <> 1") == "b n")
    #expect(try f.find("day != %@", .day(1)) == "b n")
    #expect(try f.find("flag != YES") == "b n")
    #expect(try f.find("parent != %@", f.object("a")) == "a n")
    #expect(try f.find("place.geo.lon == NULL") == "a b n")
    #expect(try f.find("place.geo == NULL") == "n")
  }

  @Test("nothing is less or greater than nil", arguments: ordered, ["<", "<=", ">", ">="])
  func order(_ attribute: String, _ sign: String) throws {
    #expect(try f.find("\(attribute) \(sign) NULL") == "")
    #expect(try f.find("NULL \(sign) \(attribute)") == "")
    let reflexive = sign.hasSuffix("=") ? "a b" : ""
    #expect(try f.find("\(attribute) \(sign) \(attribute)") == reflexive)
    // The value of b's parent; a and n have no parent.
    #expect(try ["", "b"].contains(f.find("\(attribute) \(sign) parent.\(attribute)")))
  }

  @Test("nil is between nothing, and nothing is between nil and something", arguments: ordered)
  func between(_ attribute: String) throws {
    #expect(try f.find("\(attribute) BETWEEN {\(attribute), \(attribute)}") == "a b")
    #expect(try f.find("\(attribute) BETWEEN {NULL, \(attribute)}") == "")
    #expect(try f.find("\(attribute) BETWEEN {\(attribute), NULL}") == "")
  }

  @Test(
    "nil contains nothing, begins with nothing, matches nothing",
    arguments: ["CONTAINS ''", "BEGINSWITH ''", "ENDSWITH ''", "LIKE '*'", "MATCHES '.*'", "CONTAINS[cd] ''"])
  func texts(_ question: String) throws {
    #expect(try f.find("name \(question)") == "a b")
    #expect(try f.find("place.city \(question)") == "a b")
    #expect(try f.find("parent.name \(question)") == "b")
  }

  @Test("nothing contains nil", arguments: ["CONTAINS", "BEGINSWITH", "ENDSWITH", "LIKE", "MATCHES"])
  func nilPattern(_ word: String) throws {
    #expect(try f.find("name \(word) NULL") == "")
    #expect(try f.find("'abc' \(word) parent.parent.name") == "")
    #expect(try f.find("name \(word) name") == "a b")
  }

  @Test("nil is in a list that has nil")
  func membership() throws {
    #expect(try f.find("small IN {1, NULL}") == "a n")
    #expect(try f.find("small IN {1, 2}") == "a b")
    #expect(try f.find("NOT (small IN {1, 2})") == "n")
    #expect(try f.find("small IN %@", [1, nil]) == "a n")
    #expect(try f.find("name IN %@", ["b", nil]) == "b n")
    #expect(try f.find("name IN %@", []) == "")
    #expect(try f.find("name IN {name}") == "a b n")
    #expect(try f.find("name IN 'abc'") == "a b")
    #expect(try f.find("'a' IN name") == "a")
    try f.add("t", ["points": nil], of: "Tag")
    try f.add("u", ["points": 3], of: "Tag")
    try f.add("c", ["small": 3], ["tags": ["t", "u"]])
    try f.add("d", [:], ["tags": ["u"]])
    #expect(try f.find("NULL IN tags.points") == "c")
    #expect(try f.find("tags.points CONTAINS NULL") == "c")
    #expect(try f.find("small IN tags.points") == "c")
    #expect(try f.find("ANY tags.points == NULL") == "c")
  }

  @Test("a key path that meets an empty to-one relationship is nil")
  func keyPath() throws {
    #expect(try f.find("parent == NULL") == "a n")
    #expect(try f.find("parent.name == NULL") == "a n")
    #expect(try f.find("parent.name == 'a'") == "b")
    #expect(try f.find("parent.name != 'a'") == "a n")
    #expect(try f.find("parent.parent == NULL") == "a b n")
    #expect(try f.find("parent.parent.small == NULL") == "a b n")
    #expect(try f.find("parent.place.geo.lat == 1") == "b")
    #expect(try f.find("parent.place.geo.lat == NULL") == "a n")
    #expect(try f.find("best.group.owner.name == NULL") == "a b n")
  }

  @Test("NOT turns every answer around")
  func negation() throws {
    #expect(try f.find("NOT (small < 2)") == "b n")
    #expect(try f.find("NOT (small < 2) AND small < 2") == "")
    #expect(try f.find("NOT (name CONTAINS 'a')") == "b n")
    #expect(try f.find("NOT (small BETWEEN {0, 1})") == "b n")
    #expect(try f.find("NOT NOT (small < 2)") == "a")
    #expect(try f.find("!(parent.small >= 1)") == "a n")
    #expect(try f.find("NOT (small < 2 OR small >= 2)") == "n")
    #expect(try f.find("TRUEPREDICATE") == "a b n")
    #expect(try f.find("FALSEPREDICATE") == "")
  }

  @Test(
    "functions of nil are nil",
    arguments: [
      "small + 1", "1 - small", "small * ratio", "small / 2", "2 / small", "small ** 2", "-small", "price + price",
      "day + 1", "day - day", "abs(small)", "floor(ratio)", "ceiling(ratio)", "trunc(ratio)", "sqrt(ratio)",
      "ln(ratio)",
      "log(ratio)", "exp(ratio)", "lowercase(name)", "uppercase(name)", "length(name)", "modulus:by:(small, 2)",
      "bitwiseAnd:with:(small, 1)", "bitwiseOr:with:(1, small)", "onesComplement(small)", "leftshift:by:(small, 1)",
      "canonical(name)", "abs(parent.parent.small + 1)", "TERNARY(small == NULL, small, 1) + 1",
    ])
  func functions(_ text: String) throws {
    #expect(try f.find("key == 'n' AND \(text) == NULL") == "n")
    #expect(try f.find("key == 'n' AND \(text) != NULL") == "")
  }
}
