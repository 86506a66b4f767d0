import Foundation
import Testing

@testable import KVCloneModel

struct AttributeValueTests {
  static let samples: [AttributeValue] = [
    0, -1, .integer(.max), .integer(.min), .decimal(Decimal(string: "12345678901234567890.123456789")!),
    .decimal(.nan), .decimal(-0.5), 0.1, .double(-0.0), .double(0), .double(.nan), .double(.infinity),
    .double(.leastNonzeroMagnitude), .float(0.1), .float(-.infinity), .float(.nan), "", "Grüße 👋🏽\u{0}\n\"",
    true, false, .date(Date(timeIntervalSinceReferenceDate: 654_210_600.25)),
    .date(Date(timeIntervalSinceReferenceDate: -1e300)), .binary(Data()), .binary(Data([0, 255, 10])),
    .uuid(UUID(uuidString: "6BA7B810-9DAD-11D1-80B4-00C04FD430C8")!), .uri("https://a/b?c#d"),
    .transformable(Data([1])), ["lat": 1.5, "inner": ["x": nil ?? 3]],
    .blob(BlobReference(id: 7, byteCount: 1 << 40, isTransformable: true)),
  ]

  @Test func everyValueSurvivesItsStoredForm() throws {
    for value in Self.samples {
      let data = try JSONEncoder().encode(value)
      #expect(try JSONDecoder().decode(AttributeValue.self, from: data) == value)
    }
  }

  @Test func equalityIsByWhatIsStored() {
    #expect(AttributeValue.double(.nan) == .double(.nan))
    #expect(AttributeValue.double(0) != .double(-0.0))
    #expect(AttributeValue.decimal(.nan) == .decimal(.nan))
    #expect(AttributeValue.decimal(.nan) != .decimal(0))
    // Composed and decomposed: equal to Swift's String, different bytes in a store.
    #expect(AttributeValue.string("\u{e9}") != .string("e\u{301}"))
    #expect(AttributeValue.uri("a") != .string("a"))
    #expect(Set(Self.samples).count == Self.samples.count)
    for value in Self.samples { #expect(Set([value, value]).count == 1) }
  }

  @Test func badStoredFormsThrow() {
    let texts = [
      "{}", "{\"integer\":1,\"float\":\"1\"}", "{\"double\":\"x\"}", "{\"uuid\":\"x\"}", "{\"binary\":\"*\"}",
      "{\"x\":1}",
      "3",
    ]
    for text in texts {
      #expect(throws: (any Error).self) {
        try JSONDecoder().decode(AttributeValue.self, from: Data(text.utf8))
      }
    }
  }

  @Test func objectIDsAreTwoNumbersThatSort() throws {
    let id = ObjectID(rootCode: 3, serial: ObjectID.maximumSerial)
    #expect(id.rawValue == 0x0003_FFFF_FFFF_FFFF)
    #expect(id.rootCode == 3 && id.serial == ObjectID.maximumSerial)
    #expect(id < ObjectID(rootCode: 4, serial: 1))
    #expect(try JSONDecoder().decode([ObjectID].self, from: JSONEncoder().encode([id])) == [id])
  }
}

struct CoercionTests {
  @Test func integersAreCheckedAgainstTheRange() {
    #expect(AttributeType.integer16.coerce(32_767) == 32_767)
    #expect(AttributeType.integer16.coerce(32_768) == nil)
    #expect(AttributeType.integer16.coerce(-32_769) == nil)
    #expect(AttributeType.integer32.coerce(.integer(1 << 31)) == nil)
    #expect(AttributeType.integer64.coerce(.integer(.min)) == .integer(.min))
    #expect(AttributeType.integer16.coerce(3.0) == 3)
    #expect(AttributeType.integer16.coerce(3.5) == nil)
    #expect(AttributeType.integer16.coerce(.double(.nan)) == nil)
    #expect(AttributeType.integer64.coerce(.double(9.3e18)) == nil)
    #expect(AttributeType.integer64.coerce(.decimal(12)) == 12)
    #expect(AttributeType.integer64.coerce(.decimal(.nan)) == nil)
    #expect(AttributeType.integer64.coerce("1") == nil)
  }

  @Test func numbersChangeTypeOnlyWithoutLoss() {
    #expect(AttributeType.double.coerce(3) == 3.0)
    #expect(AttributeType.double.coerce(.integer(1 << 54)) == .double(9_007_199_254_740_992 * 2))
    #expect(AttributeType.double.coerce(.integer((1 << 53) + 1)) == nil)
    #expect(AttributeType.float.coerce(0.1) == .float(0.1))
    #expect(AttributeType.float.coerce(0.123456789012) == nil)
    #expect(AttributeType.float.coerce(1e300) == nil)
    #expect(AttributeType.float.coerce(.double(.nan)) != nil)
    #expect(AttributeType.float.coerce(16_777_217) == nil)
    #expect(AttributeType.decimal.coerce(0.1) == .decimal(Decimal(string: "0.1")!))
    #expect(AttributeType.decimal.coerce(7) == .decimal(7))
    #expect(AttributeType.decimal.coerce(1e300) == nil)
    #expect(AttributeType.decimal.coerce(.double(.infinity)) == nil)
    #expect(AttributeType.double.coerce(.decimal(Decimal(string: "0.1")!)) == 0.1)
    #expect(AttributeType.double.coerce(.decimal(Decimal(string: "12345678901234567890.123")!)) == nil)
  }

  @Test func textsBecomeWhatTheySpell() throws {
    let uuid = try #require(UUID(uuidString: "6BA7B810-9DAD-11D1-80B4-00C04FD430C8"))
    #expect(AttributeType.uuid.coerce(.string(uuid.uuidString)) == .uuid(uuid))
    #expect(AttributeType.uuid.coerce("empy") == nil)
    #expect(AttributeType.uri.coerce("a:b") == .uri("a:b"))
    #expect(AttributeType.string.coerce(1) == nil)
    #expect(AttributeType.boolean.coerce(1) == true)
    #expect(AttributeType.boolean.coerce(2) == nil)
  }

  @Test func blobsAreEitherBinaryOrTransformable() {
    let plain = AttributeValue.blob(BlobReference(id: 1, byteCount: 2))
    let archive = AttributeValue.blob(BlobReference(id: 1, byteCount: 2, isTransformable: true))
    #expect(AttributeType.binary.coerce(plain) == plain)
    #expect(AttributeType.binary.coerce(archive) == nil)
    #expect(AttributeType.transformable.coerce(archive) == archive)
    #expect(AttributeType.transformable.coerce(plain) == nil)
  }

  @Test func compositesAreCheckedElementByElement() {
    let attribute = AttributeDescription(
      "place", .composite, elements: [.init("lat", .double), .init("n", .integer16)])
    #expect(attribute.coerce(["lat": 1, "n": 2]) == ["lat": 1.0, "n": 2])
    #expect(attribute.coerce(["lat": "x"]) == nil)
    #expect(attribute.coerce(["other": 1]) == nil)
    #expect(attribute.coerce(1) == nil)
  }

  @Test func defaultsTakeTheTypeOfTheirAttribute() {
    #expect(AttributeDescription("a", .float, default: 0.1).defaultValue == .float(0.1))
    #expect(AttributeDescription("a", .string, min: 3).minValue == 3)
  }
}
