import Foundation
import KVCloneModel
import KVCloneTestSupport
import Testing

@testable import KVCloneCoreData

/// Each form of an expression that Xcode archives, and corrupted archives.
struct ExpressionArchiveTests {
  private func read(_ expression: TestExpression) throws -> MappingExpression {
    try ExpressionArchive.expression(in: ArchiveWriter.archive(expression))
  }

  private func constant(_ object: TestObject) throws -> MappingExpression { try read(.constant(object)) }

  /// Written by another implementation of the format, Python's, so that reader and writer here cannot share an error.
  @Test func anArchiveOfAnotherWriterIsRead() throws {
    let bytes = try #require(Data(base64Encoded: goldenArchive))
    let expression = try ExpressionArchive.expression(in: [UInt8](bytes))
    #expect(
      expression == .destinationInstances(mapping: "BücherToVolumes", of: .source("author.books")))
  }

  @Test func constants() throws {
    #expect(try constant(.value(.string("Unknown"))) == .constant("Unknown"))
    #expect(try constant(.value(.string("größe 👋"))) == .constant("größe 👋"))
    #expect(try constant(.value(.integer(-3))) == .constant(-3))
    #expect(try constant(.value(.real(1.5))) == .constant(1.5))
    #expect(try constant(.value(.boolean(true))) == .constant(true))
    #expect(try constant(.value(.null)) == .constant(nil))
    #expect(try constant(.object("NSNull", [])) == .constant(nil))
    #expect(try constant(.object("NSMutableString", [("NS.string", .value(.string("x")))])) == .constant("x"))
    let date = TestObject.object("NSDate", [("NS.time", .value(.real(86_400)))])
    #expect(try constant(date) == .constant(.date(Date(timeIntervalSinceReferenceDate: 86_400))))
    let uuid = TestObject.object("NSUUID", [("NS.uuidbytes", .value(.data(Array(0..<16))))])
    let known = try #require(UUID(uuidString: "00010203-0405-0607-0809-0A0B0C0D0E0F"))
    #expect(try constant(uuid) == .constant(.uuid(known)))
    #expect(try constant(.value(.data([1, 2]))) == .constant(.binary(Data([1, 2]))))
    let list = TestObject.list("NSArray", [.value(.integer(1)), .value(.string("a"))])
    #expect(
      try constant(list) == .value(.constant(.list([.value(.integer(1)), .value(.string("a"))]))))
    #expect(try constant(.object("NSColor", [])) == .unsupported("a constant"))
    #expect(try read(.utilities) == .unsupported("_NSPredicateUtilities"))
  }

  @Test func decimals() throws {
    func decimal(_ digits: [UInt8], _ exponent: Int64, negative: Bool, length: Int64) throws -> MappingExpression {
      let mantissa = digits + [UInt8](repeating: 0, count: 16 - digits.count)
      return try constant(
        .object(
          "NSDecimalNumber",
          [
            ("NS.mantissa", .value(.data(mantissa))), ("NS.mantissa.bo", .value(.integer(1))),
            ("NS.length", .value(.integer(length))), ("NS.exponent", .value(.integer(exponent))),
            ("NS.negative", .value(.boolean(negative))), ("NS.compact", .value(.boolean(true))),
          ]))
    }
    let price = try #require(Decimal(string: "-12.34"))
    #expect(try decimal([0xD2, 0x04], -2, negative: true, length: 1) == .constant(.decimal(price)))
    let large = try #require(Decimal(string: "65536"))
    #expect(try decimal([0, 0, 1, 0], 0, negative: false, length: 2) == .constant(.decimal(large)))
    #expect(try decimal([], 0, negative: false, length: 0) == .constant(.decimal(0)))
    #expect(try decimal([], 0, negative: true, length: 0) == .constant(.decimal(.nan)))
    #expect(try decimal([1], 0, negative: false, length: 9) == .unsupported("a constant"))
    let full = [UInt8](repeating: 0xFF, count: 16)
    #expect(try decimal(full, 127, negative: false, length: 8) != .constant(nil))
  }

  @Test func pathsAndVariables() throws {
    #expect(try read(.source("name")) == .source("name"))
    #expect(try read(.source("author.name")) == .source("author.name"))
    #expect(try read(.function(.variable("source"), "valueForKey:", [.text("name")])) == .source("name"))
    #expect(try read(.source("books.@count")) == MappingExpression(format: "$source.books.@count"))
    #expect(try read(.source("books.@sum.price")) == MappingExpression(format: "$source.books.@sum.price"))
    let nested = TestExpression.function(.source("author"), "valueForKey:", [.specifier("name")])
    #expect(try read(nested) == .source("author.name"))
    #expect(try read(.keyPath("a.b")) == MappingExpression(format: "a.b"))
    #expect(try read(.evaluatedObject) == .value(.self))
    #expect(try read(.variable("source")) == .sourceObject)
    #expect(try read(.variable("manager")) == .value(.variable("manager")))
    #expect(try read(.variable("no name")) == .unsupported("a variable"))
    #expect(try read(.source("a..b")) == .unsupported("FUNCTION($source, \"valueForKeyPath:\", \"a..b\")"))
    #expect(try read(.source("a.@nothing")) == .unsupported("FUNCTION($source, \"valueForKeyPath:\", \"a.@nothing\")"))
  }

  @Test func functions() throws {
    #expect(try read(.function(.utilities, "now", [])) == MappingExpression(format: "now()"))
    let product = TestExpression.function(
      .utilities, "multiply:by:", [.source("price"), .constant(.value(.integer(100)))])
    #expect(try read(product) == MappingExpression(format: "$source.price * 100"))
    let cast = TestExpression.function(.utilities, "castObject:toType:", [.source("made"), .text("NSNumber")])
    #expect(try read(cast) == MappingExpression(format: "CAST($source.made, 'NSNumber')"))
    #expect(
      try read(.function(.source("name"), "uppercaseString", []))
        == MappingExpression(format: "uppercase:($source.name)"))
    #expect(
      try read(.aggregate([.text("a"), .source("b")])) == MappingExpression(format: "{'a', $source.b}"))
    let appended = TestExpression.function(.source("name"), "stringByAppendingString:", [.text("!")])
    let text = "FUNCTION($source.name, \"stringByAppendingString:\", \"!\")"
    #expect(try read(appended) == .unsupported(text))
    // An expression that contains it is shown as a whole.
    #expect(
      try read(.function(.utilities, "length:", [appended]))
        == .unsupported("FUNCTION(_NSPredicateUtilities, \"length:\", \(text))"))
    #expect(try read(.aggregate([appended])) == .unsupported("{\(text)}"))
    #expect(
      try read(.function(.utilities, "add:to:", [.text("a")]))
        == .unsupported("FUNCTION(_NSPredicateUtilities, \"add:to:\", \"a\")"))
    #expect(try read(.other(20, "NSTernaryExpression")) == .unsupported("NSTernaryExpression"))
  }

  @Test func callsOfTheMigration() throws {
    let byMapping = TestExpression.function(
      .variable("manager"), MappingExpression.byMapping, [.text("BookToVolume"), .source("books")])
    let made = MappingExpression.destinationInstances(mapping: "BookToVolume", of: .source("books"))
    #expect(try read(byMapping) == made)
    #expect(
      made.description
        == "FUNCTION($manager, \"destinationInstancesForEntityMappingNamed:sourceInstances:\", \"BookToVolume\","
        + " $source.books)")
    let byRelationship = TestExpression.function(
      .variable("manager"), MappingExpression.byRelationship, [.text("books"), .source("books")])
    #expect(try read(byRelationship) == .destinationInstancesForRelationship("books", of: .source("books")))
    let policy = TestExpression.function(
      .variable("entityPolicy"), "titleOf:manager:", [.variable("source"), .variable("manager")])
    #expect(try read(policy) == .policy("titleOf:manager:", [.sourceObject, .value(.variable("manager"))]))
    #expect(
      try read(.function(.variable("entityPolicy"), "pick:", [byMapping])) == .policy("pick:", [made]))
    #expect(try read(.function(.variable("entityPolicy"), "date", [])) == .policy("date", []))
    let wrong = try read(.function(.variable("entityPolicy"), "pick:", []))
    #expect(wrong == .unsupported("FUNCTION($entityPolicy, \"pick:\")"))
    let unknown = try read(.function(.variable("manager"), "cancelMigration", []))
    #expect(unknown == .unsupported("FUNCTION($manager, \"cancelMigration\")"))
  }

  @Test func fetches() throws {
    func objects(_ expression: TestExpression) throws -> (entity: String?, objects: EntityMapping.SourceObjects) {
      try ExpressionArchive.sourceObjects(in: ArchiveWriter.archive(expression))
    }
    func request(_ predicate: String) -> TestExpression {
      .function(
        .variable("manager"), "fetchRequestForSourceEntityNamed:predicateString:", [.text("Note"), .text(predicate)])
    }
    let all = try objects(.fetch(request("TRUEPREDICATE")))
    #expect(all.entity == "Note" && all.objects == .all)
    let some = try objects(.fetch(request("rank > 3")))
    let predicate = try QueryPredicate(format: "rank > 3")
    #expect(some.objects == .matching(predicate))
    #expect(try objects(.fetch(request("rank >"))).objects == .unsupported("rank >"))
    #expect(try objects(.fetch(request("name == %@"))).objects == .unsupported("name == %@"))
    #expect(try objects(.fetch(request("a == 1"), countOnly: true)).objects == .unsupported("a FETCH that counts"))
    #expect(try objects(.fetch(.variable("source"))).objects == .unsupported("FETCH($source)"))
    #expect(try objects(.source("books")).objects == .unsupported("$source.books"))
  }

  @Test func userInfo() throws {
    let info = try ExpressionArchive.userInfo(
      in: ArchiveWriter.archive(.texts([("modelVersion", .value(.string("2"))), ("n", .value(.integer(1)))])))
    #expect(info.texts == ["modelVersion": "2"] && !info.isWhole)
    #expect(throws: BinaryPropertyList.Malformed.self) {
      try ExpressionArchive.userInfo(in: ArchiveWriter.archive(.list("NSArray", [])))
    }
  }

  @Test func whatNestsTooDeepIsDamage() {
    var deep = TestExpression.variable("source")
    for _ in 0..<60 { deep = .function(deep, "x", []) }
    #expect(throws: Never.self) { try read(deep) }
    for _ in 0..<5 { deep = .function(deep, "x", []) }
    #expect(throws: BinaryPropertyList.Malformed.self) { try read(deep) }
  }

  /// An object that is its own operand, and one that is its own class.
  @Test func circlesAreDamage() {
    func archive(_ objects: [TestValue]) -> [UInt8] {
      PropertyListWriter.bytes(
        .dictionary([("$top", .dictionary([("root", .reference(1))])), ("$objects", .array([.null] + objects))]))
    }
    let description = TestValue.dictionary([("$classname", .string("NSFunctionExpression"))])
    let function: [(String, TestValue)] = [
      ("NSExpressionType", .integer(4)), ("NSSelectorName", .string("x")), ("$class", .reference(2)),
    ]
    for objects in [
      [.dictionary(function + [("NSOperand", .reference(1))]), description],
      [.dictionary([("$class", .reference(1))])], [.reference(1)], [],
    ] as [[TestValue]] {
      #expect(throws: BinaryPropertyList.Malformed.self) { try ExpressionArchive.expression(in: archive(objects)) }
    }
  }

  /// Each level has its operand twice: a small archive of two to the power of 60 expressions.
  @Test func sharingThatExplodesIsDamage() {
    var objects: [TestValue] = [.null, .dictionary([("$classname", .string("NSAggregateExpression"))])]
    objects.append(.dictionary([("$classname", .string("NSArray"))]))
    objects.append(
      .dictionary([("NSExpressionType", .integer(2)), ("NSVariable", .string("a")), ("$class", .reference(1))]))
    for _ in 0..<30 {
      let inner = TestValue.reference(objects.count - 1)
      objects.append(.dictionary([("NS.objects", .array([inner, inner])), ("$class", .reference(2))]))
      objects.append(
        .dictionary([
          ("NSExpressionType", .integer(14)), ("NSCollection", .reference(objects.count - 1)),
          ("$class", .reference(1)),
        ]))
    }
    let bytes = PropertyListWriter.bytes(
      .dictionary([("$top", .dictionary([("root", .reference(objects.count - 1))])), ("$objects", .array(objects))]))
    #expect(throws: BinaryPropertyList.Malformed.self) { try ExpressionArchive.expression(in: bytes) }
  }

  @Test func everyTruncationIsDamage() {
    let bytes = ArchiveWriter.archive(.source("author.name"))
    for length in 0..<bytes.count {
      #expect(throws: BinaryPropertyList.Malformed.self) {
        try ExpressionArchive.expression(in: Array(bytes.prefix(length)))
      }
    }
  }

  @Test func mutationsNeverTrap() {
    let seed: UInt64 = 20_241_122
    var numbers = SeededNumbers(state: seed)
    let sources = [
      ArchiveWriter.archive(
        .function(.variable("manager"), MappingExpression.byMapping, [.text("größe"), .source("books.@count")])),
      ArchiveWriter.archive(.fetch(.function(.variable("manager"), "x:", [.text("Note")]))),
      ArchiveWriter.archive(.texts([("a", .value(.string("b")))])),
      ArchiveWriter.archive(.function(.utilities, "add:to:", [.source("a.b"), .constant(.value(.real(1.5)))])),
      ArchiveWriter.archive(.aggregate([.text("a"), .constant(.list("NSArray", [.value(.integer(1))]))])),
    ]
    var accepted = 0
    for turn in 0..<6_000 {
      var bytes = sources[turn % sources.count]
      for _ in 0..<Int.random(in: 1...3, using: &numbers) {
        let place = Int.random(in: 0..<bytes.count, using: &numbers)
        if Bool.random(using: &numbers) {
          bytes[place] = UInt8.random(in: 0...255, using: &numbers)
        } else {
          bytes[place] ^= 1 << UInt8.random(in: 0...7, using: &numbers)
        }
      }
      if let expression = try? ExpressionArchive.expression(in: bytes) {
        accepted += 1
        // An expression that was read can be printed, and the printed text can be read.
        if case .value(let value) = expression {
          let text = value.expressionFormat
          let again = try? QueryExpression(format: text, arguments: [])
          #expect(again == value, "seed \(seed): \(text)")
        }
      }
      _ = try? ExpressionArchive.sourceObjects(in: bytes)
      _ = try? ExpressionArchive.userInfo(in: bytes)
    }
    #expect(accepted > 0 && accepted < 6_000, "seed \(seed)")
  }
}

/// `FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "BücherToVolumes",
/// $source.author.books)`, written by `plistlib`.
private let goldenArchive = """
  YnBsaXN0MDDUAQIDBAUGSEtZJGFyY2hpdmVyWCRvYmplY3RzVCR0b3BYJHZlcnNpb25fEA9OU0tleWVkQXJjaGl2ZXKvEBIHCBMYGRogJSYrLi8w\
  Nzo+QkdVJG51bGzVCQoLDA0ODxARElYkY2xhc3NbTlNBcmd1bWVudHNfEBBOU0V4cHJlc3Npb25UeXBlWU5TT3BlcmFuZF5OU1NlbGVjdG9yTmFt\
  ZYANgAUQBIACgATTCQsUFRYXWk5TVmFyaWFibGWADBACgANXbWFuYWdlcl8QOmRlc3RpbmF0aW9uSW5zdGFuY2VzRm9yRW50aXR5TWFwcGluZ05h\
  bWVkOnNvdXJjZUluc3RhbmNlczrSCRscHVpOUy5vYmplY3RzgA6iHh+ABoAI0wkhCyIjJF8QD05TQ29uc3RhbnRWYWx1ZYAMgAcQAG8QDwBCAPwA\
  YwBoAGUAcgBUAG8AVgBvAGwAdQBtAGUAc9UJCgsMDScoECkqgA2AD4AJgAvTCQsULBYtgAyAClZzb3VyY2VfEBB2YWx1ZUZvcktleVBhdGg60jEy\
  MzRYJGNsYXNzZXNaJGNsYXNzbmFtZaM0NTZfEBROU1ZhcmlhYmxlRXhwcmVzc2lvblxOU0V4cHJlc3Npb25YTlNPYmplY3TSMTI4OaM5NTZfEBRO\
  U0Z1bmN0aW9uRXhwcmVzc2lvbtIxMjs8ozw9Nl5OU011dGFibGVBcnJheVdOU0FycmF50gkbP0CADqFBgBDTCQtDREVGWU5TS2V5UGF0aIAMEAqA\
  EVxhdXRob3IuYm9va3PRSUpUcm9vdIABEgABhqAACAARABsAJAApADIARABZAF8AagBxAH0AkACaAKkAqwCtAK8AsQCzALoAxQDHAMkAywDTARAB\
  FQEgASIBJQEnASkBMAFCAUQBRgFIAWkBdAF2AXgBegF8AYMBhQGHAY4BoQGmAa8BugG+AdUB4gHrAfAB9AILAhACFAIjAisCMAIyAjQCNgI9AkcC\
  SQJLAk0CWgJdAmICZAAAAAAAAAIBAAAAAAAAAEwAAAAAAAAAAAAAAAAAAAJp
  """
