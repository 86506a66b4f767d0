import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore

private struct Color: Codable, Sendable, Equatable {
  var red: Double
  var green: Double
}

private struct Gradient: Codable, Sendable, Equatable { var stops: [Color] }

private let transformerModel = ManagedObjectModel("Transformers") {
  EntityDescription("Shape") {
    AttributeDescription("name", .string)
    AttributeDescription("color", .transformable, transformer: "ColorTransformer")
    AttributeDescription("archive", .transformable)
    AttributeDescription("other", .transformable, transformer: "Missing")
    AttributeDescription("live", .transformable, transient: true, transformer: "ColorTransformer")
  }
}

@Suite("Transformable values")
struct TransformerTests {
  let test: TestStore
  var store: ObjectStore { test.store }

  init() throws {
    var options = StoreOptions()
    options.transformers.registerJSON("ColorTransformer", for: Color.self)
    options.transformers.registerJSON(for: Gradient.self)
    options.transformers.register(
      for: String.self, encode: { Data($0.utf8) },
      decode: { data in
        guard let text = String(validating: data, as: UTF8.self) else { throw CocoaError(.coderReadCorrupt) }
        return text
      })
    test = try TestStore(transformerModel, options: options)
  }

  @Test("values of Swift types come back, small and large, in transactions and objects")
  func roundTrip() throws {
    let color = Color(red: 0.5, green: 1)
    let gradient = Gradient(stops: Array(repeating: color, count: 500))
    let id = try store.write { tx in
      let id = try tx.insert("Shape")
      try tx.setTransformed(id, "color", color)
      try tx.setTransformed(id, "archive", gradient)
      try tx.setTransformed(id, "live", color)
      let live: Color? = try tx.transformed(id, "live")
      #expect(live == color)
      return id
    }
    #expect(try store.read { tx in try tx.transformed(id, "color", as: Color.self) } == color)
    #expect(try store.read { tx in try tx.transformed(id, "archive", as: Gradient.self) } == gradient)
    var object = try store.object(id)
    #expect(try object.transformed("color", as: Color.self) == color)
    // A large value is only in the store.
    expectError(.wrongType) { _ = try object.transformed("archive", as: Gradient.self) }
    try object.setTransformed("color", Color(red: 0, green: 0))
    #expect(try object.transformed("color", as: Color.self) == Color(red: 0, green: 0))
    try store.write { [object] tx in
      try tx.save(object)
      try tx.setTransformed(id, "archive", "text")
    }
    #expect(try store.read { tx in try tx.transformed(id, "archive", as: String.self) } == "text")
    let clone = try store.clone(object: id)
    #expect(try store.read { tx in try tx.transformed(clone, "color", as: Color.self) } == Color(red: 0, green: 0))
    try store.write { tx in try tx.setTransformed(id, "color", Color?.none) }
    #expect(try store.read { tx in try tx.transformed(id, "color", as: Color.self) } == nil)
    try checked(store)
  }

  @Test("an unknown transformer, another type, or bytes that it refuses are errors when they are met")
  func errors() throws {
    let id = try store.insert("Shape", ["color": .transformable(Data([1])), "other": .transformable(Data([2]))])
    let unknown = expectError(.unknownTransformer) {
      _ = try store.read { tx in try tx.transformed(id, "other", as: Color.self) }
    }
    #expect(unknown?.property == "other" && unknown?.message.contains("Missing") == true)
    expectError(.unknownTransformer) { try store.write { tx in try tx.setTransformed(id, "color", "text") } }
    expectError(.transformFailed) { _ = try store.read { tx in try tx.transformed(id, "color", as: Color.self) } }
    expectError(.transformFailed) { _ = try store.object(id).transformed("color", as: Color.self) }
    expectError(.transformFailed) {
      try store.write { tx in try tx.setTransformed(id, "color", Color(red: .nan, green: 0)) }
    }
    expectError(.wrongType) { try store.write { tx in try tx.setTransformed(id, "name", "text") } }
    expectError(.unknownProperty) { _ = try store.read { tx in try tx.transformed(id, "nothing", as: Color.self) } }
    // The bytes themselves need no transformer.
    #expect(try store.value(id, "other") == .transformable(Data([2])))
    try test.reopen()
    expectError(.unknownTransformer) { _ = try store.read { tx in try tx.transformed(id, "color", as: Color.self) } }
    try checked(store)
  }
}
