import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneCore

private let day = 86_400.0

private let boundsModel = ManagedObjectModel("Bounds") {
  EntityDescription("Bounded") {
    AttributeDescription("i16", .integer16, min: -5, max: 5)
    AttributeDescription("i32", .integer32, min: -5, max: 5)
    AttributeDescription("i64", .integer64, min: .integer(.min + 1), max: .integer(.max - 1))
    AttributeDescription("decimal", .decimal, min: 0.1, max: 0.3)
    AttributeDescription("double", .double, min: -1.5, max: 1.5)
    AttributeDescription("float", .float, min: -1.5, max: 1.5)
    AttributeDescription(
      "date", .date, min: .date(Date(timeIntervalSinceReferenceDate: 0)),
      max: .date(Date(timeIntervalSinceReferenceDate: day)))
    AttributeDescription("text", .string, min: 2, max: 4)
    AttributeDescription("code", .string, regularExpression: "[A-Z]{2}[0-9]+")
    AttributeDescription("address", .composite, composite: "Address")
  }
  EntityDescription("Needy") {
    AttributeDescription("name", .string, optional: false)
    AttributeDescription("count", .integer32, optional: false)
    AttributeDescription("address", .composite, optional: false, composite: "Address")
    RelationshipDescription("one", toOne: "Bounded", optional: false)
    RelationshipDescription("two", toMany: "Bounded", optional: false, min: 2, max: 3)
    RelationshipDescription("three", toMany: "Bounded", min: 2, max: 3)
    RelationshipDescription("owner", toOne: "Owner", inverse: "needy")
  }
  EntityDescription("Owner") {
    RelationshipDescription("needy", toMany: "Needy", inverse: "owner", ordered: true, optional: false, min: 1)
  }
  CompositeAttributeDescription("Address") {
    AttributeDescription("zip", .integer32, min: 1, max: 99_999)
    AttributeDescription("city", .string, max: 5)
  }
}

@Suite("What a commit checks")
struct ValidationTests {
  let test: TestStore
  var store: ObjectStore { test.store }

  init() throws { test = try TestStore(boundsModel) }

  @Test("the bounds themselves are inside, of every type")
  func inside() throws {
    let low = Date(timeIntervalSinceReferenceDate: 0)
    let high = Date(timeIntervalSinceReferenceDate: day)
    try store.insert(
      "Bounded",
      [
        "i16": -5, "i32": -5, "i64": .integer(.min + 1), "decimal": 0.1, "double": -1.5, "float": -1.5,
        "date": .date(low), "text": "ab", "code": "AB1", "address": ["zip": 1, "city": ""],
      ])
    try store.insert(
      "Bounded",
      [
        "i16": 5, "i32": 5, "i64": .integer(.max - 1), "decimal": 0.3, "double": 1.5, "float": 1.5,
        "date": .date(high), "text": "abcd", "code": "ZZ0123456789", "address": ["zip": 99_999, "city": "Paris"],
      ])
    try store.insert("Bounded")
    #expect(try store.objects("Bounded").count == 3)
    try checked(store)
  }

  static let outsiders: [(String, AttributeValue, String)] = [
    ("i16", -6, "valueTooSmall"), ("i16", 6, "valueTooLarge"), ("i32", -6, "valueTooSmall"),
    ("i32", 6, "valueTooLarge"), ("i64", .integer(.min), "valueTooSmall"), ("i64", .integer(.max), "valueTooLarge"),
    ("decimal", 0.0999, "valueTooSmall"), ("decimal", 0.30000001, "valueTooLarge"),
    ("double", .double((-1.5).nextDown), "valueTooSmall"), ("double", .double(.infinity), "valueTooLarge"),
    ("float", .float(Float(-1.5).nextDown), "valueTooSmall"), ("float", 2, "valueTooLarge"),
    ("date", .date(Date(timeIntervalSinceReferenceDate: -0.001)), "valueTooSmall"),
    ("date", .date(Date(timeIntervalSinceReferenceDate: day + 1)), "valueTooLarge"),
    ("text", "a", "stringTooShort"), ("text", "", "stringTooShort"), ("text", "abcde", "stringTooLong"),
    ("code", "AB", "patternMismatch"), ("code", "xAB1", "patternMismatch"), ("code", "AB1x", "patternMismatch"),
    ("code", "", "patternMismatch"),
  ]

  @Test("values outside of the bounds are refused", arguments: outsiders)
  func outside(_ attribute: String, _ value: AttributeValue, _ kind: String) throws {
    let id = try store.insert("Bounded")
    #expect(expectIssues { try store.set(id, attribute, value) } == ["\(kind) Bounded.\(attribute)"])
    #expect(expectIssues { try store.insert("Bounded", [attribute: value]) } == ["\(kind) Bounded.\(attribute)"])
    #expect(try store.value(id, attribute) == nil)
    #expect(try store.info().commit == 1)
    try checked(store)
  }

  @Test(
    "a value whose rule ICU cannot read is refused, and never taken for one that keeps it", arguments: ["[", "*abc"])
  func unreadablePattern(_ pattern: String) throws {
    let test = try TestStore(
      ManagedObjectModel("Patterns") {
        EntityDescription("A") {
          AttributeDescription("text", .string, regularExpression: pattern)
          AttributeDescription("link", .uri, regularExpression: pattern)
        }
      })
    let id = try test.store.insert("A")
    for (name, value) in [("text", AttributeValue.string("abc")), ("link", .uri("abc"))] {
      #expect(expectIssues { try test.store.set(id, name, value) } == ["patternMismatch A.\(name)"])
    }
    #expect(try test.store.value(id, "text") == nil)
  }

  @Test("elements of composites have bounds too")
  func composites() throws {
    let issues = expectIssues { try store.insert("Bounded", ["address": ["zip": 0, "city": "Berlin"]]) }
    #expect(issues == ["stringTooLong Bounded.address.city", "valueTooSmall Bounded.address.zip"])
    try store.insert("Bounded", ["address": ["city": "Rome"]])
    try checked(store)
  }

  @Test("required attributes and relationships, and numbers of members: all issues are reported at once")
  func collected() throws {
    let bounded = try store.insert("Bounded", count: 4)
    let issues = expectIssues {
      try store.write { tx in
        try tx.insert("Needy", relationships: ["three": [bounded[0]]])
        try tx.insert(
          "Needy", ["name": "x", "count": 1, "address": ["zip": 7]],
          relationships: ["one": [bounded[0]], "two": [bounded[1]], "three": bounded])
        try tx.insert("Owner")
        try tx.set(bounded[0], "i16", 9)
      }
    }
    #expect(
      issues == [
        "requiredRelationshipMissing Needy.one", "requiredRelationshipMissing Needy.two",
        "requiredRelationshipMissing Owner.needy", "requiredValueMissing Needy.address",
        "requiredValueMissing Needy.count", "requiredValueMissing Needy.name", "tooFewMembers Needy.three",
        "tooFewMembers Needy.two", "tooManyMembers Needy.three", "valueTooLarge Bounded.i16",
      ])
    #expect(try store.objects("Needy").isEmpty)
    try checked(store)
  }

  @Test("each issue names its object, and the error contains the first and the number of further ones")
  func messages() throws {
    do {
      try store.write { tx in
        try tx.insert("Bounded", ["i16": 9])
        try tx.insert("Bounded", ["i16": 9, "text": "secret"])
      }
      Issue.record("nothing was thrown")
    } catch let error as ValidationError {
      #expect(error.issues.map(\.object) == ["Bounded/1", "Bounded/2", "Bounded/2"])
      #expect(error.entity == "Bounded" && error.property == "i16" && error.object == "Bounded/1")
      #expect(error.kindName == "valueTooLarge")
      #expect(error.message.contains("2 more") && !error.message.contains("secret"))
      #expect(error.issues.allSatisfy { !$0.message.contains("secret") })
    }
  }

  @Test("rules hold at commit, not on the way")
  func onTheWay() throws {
    let bounded = try store.insert("Bounded", count: 2)
    let needy = try store.write { tx in
      let needy = try tx.insert("Needy", ["count": 100])
      try tx.set(needy, "name", "x")
      try tx.setMembers(needy, "two", bounded)
      try tx.setToOne(needy, "one", bounded[0])
      try tx.set(needy, "address", ["city": "Rome"])
      return needy
    }
    try store.write { tx in
      try tx.set(needy, "name", nil)
      try tx.unlink(needy, "two")
      try tx.set(needy, "name", "y")
      try tx.setMembers(needy, "two", bounded)
    }
    #expect(try store.value(needy, "name") == "y")
    try checked(store)
  }

  @Test("a partner that changes with the other side is checked too")
  func partners() throws {
    let bounded = try store.insert("Bounded", count: 2)
    let (owner, needy) = try store.write { tx in
      let needy = try tx.insert(
        "Needy", ["name": "x", "count": 1, "address": ["zip": 7]],
        relationships: ["one": [bounded[0]], "two": bounded])
      return (try tx.insert("Owner", relationships: ["needy": [needy]]), needy)
    }
    #expect(expectIssues { try store.setToOne(needy, "owner", nil) } == ["requiredRelationshipMissing Owner.needy"])
    #expect(
      expectIssues { try store.delete([bounded[1]]) } == ["tooFewMembers Needy.two"])
    #expect(expectIssues { try store.delete([needy]) } == ["requiredRelationshipMissing Owner.needy"])
    #expect(try store.members(owner, "needy") == [needy])
    try checked(store)
  }
}

private let uniqueModel = ManagedObjectModel("Unique") {
  EntityDescription("User", unique: [["mail"], ["first", "last"]]) {
    AttributeDescription("mail", .string)
    AttributeDescription("first", .string)
    AttributeDescription("last", .string)
  }
  EntityDescription("Admin", parent: "User", unique: [["level"]]) { AttributeDescription("level", .integer32) }
  EntityDescription("Seat", unique: [["row", "number", "hall"], ["when"], ["ratio"]]) {
    AttributeDescription("row", .integer16)
    AttributeDescription("number", .decimal)
    AttributeDescription("when", .date)
    AttributeDescription("ratio", .double)
    RelationshipDescription("hall", toOne: "Hall", inverse: "seats")
  }
  EntityDescription("Hall") { RelationshipDescription("seats", toMany: "Seat", inverse: "hall") }
}

@Suite("Uniqueness constraints")
struct UniquenessTests {
  let test: TestStore
  var store: ObjectStore { test.store }

  init() throws { test = try TestStore(uniqueModel) }

  @Test("a value that another object has is refused, on insert and on change")
  func simple() throws {
    try store.insert("User", ["mail": "a"])
    let other = try store.insert("User", ["mail": "b"])
    #expect(expectIssues { try store.insert("User", ["mail": "a"]) } == ["uniquenessConflict User.mail"])
    #expect(expectIssues { try store.set(other, "mail", "a") } == ["uniquenessConflict User.mail"])
    try store.set(other, "mail", "c")
    try store.insert("User", ["mail": "b"])
    try store.insert("User", ["mail": "A"])
    try checked(store)
  }

  @Test("two new objects with one value are both named")
  func both() throws {
    let issues = expectIssues {
      try store.write { tx in
        try tx.insert("User", ["mail": "a"])
        try tx.insert("User", ["mail": "a"])
      }
    }
    #expect(issues == ["uniquenessConflict User.mail", "uniquenessConflict User.mail"])
    try checked(store)
  }

  @Test("nil never conflicts, nor does a group with a nil in it")
  func nils() throws {
    for _ in 0..<3 { try store.insert("User", ["first": "Ada"]) }
    try store.insert("User", ["first": "Ada", "last": "L"])
    #expect(
      expectIssues { try store.insert("User", ["first": "Ada", "last": "L"]) } == ["uniquenessConflict User.first,last"]
    )
    try store.insert("User", ["first": "Ada", "last": ""])
    #expect(
      expectIssues { try store.insert("User", ["first": "Ada", "last": ""]) } == ["uniquenessConflict User.first,last"])
    // The border between two texts counts.
    try store.insert("User", ["first": "AdaL", "last": ""])
    try store.insert("User", ["first": "Ad", "last": "aL"])
    try store.insert("User", ["first": "A\u{0}", "last": "b"])
    try store.insert("User", ["first": "A", "last": "\u{0}b"])
    try checked(store)
  }

  @Test("a constraint holds among all sub-entities of the entity that declares it")
  func inherited() throws {
    try store.insert("User", ["mail": "a"])
    let admin = try store.insert("Admin", ["mail": "b", "level": 1])
    #expect(expectIssues { try store.insert("Admin", ["mail": "a"]) } == ["uniquenessConflict Admin.mail"])
    #expect(expectIssues { try store.insert("User", ["mail": "b"]) } == ["uniquenessConflict User.mail"])
    #expect(expectIssues { try store.insert("Admin", ["level": 1]) } == ["uniquenessConflict Admin.level"])
    try store.delete([admin])
    try store.insert("User", ["mail": "b"])
    try checked(store)
  }

  @Test("a to-one relationship, numbers and dates count")
  func kinds() throws {
    let halls = try store.insert("Hall", count: 2)
    func seat(_ row: Int64, _ number: AttributeValue, _ hall: ObjectID) throws {
      try store.insert("Seat", ["row": .integer(row), "number": number], relationships: ["hall": [hall]])
    }
    try seat(-1, 1, halls[0])
    try seat(1, 1, halls[0])
    try seat(-1, 1, halls[1])
    try seat(-1, 1.5, halls[0])
    #expect(expectIssues { try seat(-1, 1.5, halls[0]) } == ["uniquenessConflict Seat.row,number,hall"])
    let seats = try store.objects("Seat")
    #expect(
      expectIssues { try store.setMembers(halls[0], "seats", seats) } == ["uniquenessConflict Seat.row,number,hall"])
    let date = AttributeValue.date(Date(timeIntervalSinceReferenceDate: 0.5))
    try store.insert("Seat", ["when": date, "ratio": 0.5])
    #expect(expectIssues { try store.insert("Seat", ["when": date]) } == ["uniquenessConflict Seat.when"])
    #expect(expectIssues { try store.insert("Seat", ["ratio": 0.5]) } == ["uniquenessConflict Seat.ratio"])
    try store.delete([halls[0], halls[1]])
    try checked(store)
  }

  @Test("long texts that differ only at their end are different, and equal ones conflict")
  func longTexts() throws {
    let long = String(repeating: "überlang ", count: 200)
    let ids = try (0..<5).map { try store.insert("User", ["mail": .string(long + "\($0)")]) }
    #expect(
      expectIssues { try store.insert("User", ["mail": .string(long + "3")]) } == ["uniquenessConflict User.mail"])
    try store.set(ids[3], "mail", .string(long))
    try store.insert("User", ["mail": .string(long + "3")])
    #expect(
      expectIssues { try store.set(ids[0], "mail", .string(long + "3")) } == ["uniquenessConflict User.mail"])
    try checked(store)
  }

  @Test("values may be swapped, or handed on, inside one transaction")
  func swap() throws {
    let first = try store.insert("User", ["mail": "a"])
    let second = try store.insert("User", ["mail": "b"])
    try store.write { tx in
      try tx.set(first, "mail", "b")
      try tx.set(second, "mail", "a")
    }
    #expect(try store.value(first, "mail") == "b")
    try store.write { tx in
      try tx.insert("User", ["mail": "a"])
      try tx.delete([second])
    }
    #expect(expectIssues { try store.insert("User", ["mail": "a"]) } == ["uniquenessConflict User.mail"])
    try checked(store)
  }

  @Test("an aborted transaction leaves no entry")
  func aborted() throws {
    _ = expectIssues {
      try store.write { tx in
        try tx.insert("User", ["mail": "new"])
        try tx.insert("User", ["mail": "x"])
        try tx.insert("User", ["mail": "x"])
      }
    }
    try store.insert("User", ["mail": "new"])
    try test.reopen()
    #expect(expectIssues { try store.insert("User", ["mail": "new"]) } == ["uniquenessConflict User.mail"])
    try checked(store)
  }
}
