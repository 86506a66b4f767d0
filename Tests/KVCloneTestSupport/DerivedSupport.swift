import Foundation
package import KVClone
package import KVCloneCore
package import Testing

/// A model with every kind of derived attribute, and a slow evaluator that is independent of the store's
/// implementation.
package enum DerivedModel {
  package static let model = ManagedObjectModel("Derived") {
    EntityDescription("Library") {
      AttributeDescription("name", .string)
      AttributeDescription("albumCount", .integer32, derivation: "albums.@count")
      AttributeDescription("photoCount", .integer64, derivation: "albums.@sum.photoCount")
      AttributeDescription("total", .integer64, derivation: "albums.total.@sum")
      RelationshipDescription("albums", toMany: "Album", inverse: "library")
    }
    EntityDescription("Album") {
      AttributeDescription("title", .string)
      AttributeDescription("photoCount", .integer16, derivation: "photos.@count")
      AttributeDescription("total", .integer64, derivation: "photos.@sum.size")
      AttributeDescription("small", .integer16, derivation: "sum:(photos.size)")
      AttributeDescription("least", .integer32, derivation: "photos.@min.size")
      AttributeDescription("greatest", .integer32, derivation: "photos.@max.size")
      AttributeDescription("average", .double, derivation: "photos.@avg.size")
      AttributeDescription("weight", .double, derivation: "photos.@sum.weight")
      AttributeDescription("price", .decimal, derivation: "photos.@sum.price")
      AttributeDescription("lastName", .string, derivation: "photos.@max.folded")
      AttributeDescription("libraryName", .string, derivation: "library.name")
      AttributeDescription("coverName", .string, derivation: "uppercase:(cover.name)")
      AttributeDescription("changed", .date, derivation: "now()")
      RelationshipDescription("library", toOne: "Library", inverse: "albums")
      RelationshipDescription("photos", toMany: "Photo", inverse: "album", ordered: true, deleteRule: .cascade)
      RelationshipDescription("cover", toOne: "Photo")
    }
    EntityDescription("Photo") {
      AttributeDescription("name", .string)
      AttributeDescription("folded", .string, derivation: "canonical:(name)")
      AttributeDescription("size", .integer32)
      AttributeDescription("weight", .double)
      AttributeDescription("price", .decimal)
      AttributeDescription("place", .composite, composite: "Place")
      AttributeDescription("city", .string, derivation: "lowercase:(place.city)")
      AttributeDescription("albumTitle", .string, derivation: "album.title")
      AttributeDescription("libraryName", .string, derivation: "album.library.name")
      AttributeDescription("tagWeight", .integer64, derivation: "tags.@sum.weight")
      RelationshipDescription("album", toOne: "Album", inverse: "photos")
      RelationshipDescription("tags", toMany: "Tag", inverse: "photos")
    }
    EntityDescription("Raw", parent: "Photo") { AttributeDescription("camera", .string) }
    EntityDescription("Tag") {
      AttributeDescription("weight", .integer64)
      AttributeDescription("photoCount", .integer64, derivation: "photos.@count")
      AttributeDescription("heaviest", .integer64, derivation: "photos.@max.tagWeight")
      RelationshipDescription("photos", toMany: "Photo", inverse: "tags")
    }
    EntityDescription("Node") {
      AttributeDescription("weight", .integer64)
      AttributeDescription("childWeight", .integer64, derivation: "children.@sum.weight")
      AttributeDescription("grandWeight", .integer64, derivation: "children.@sum.childWeight")
      AttributeDescription("greatWeight", .integer64, derivation: "children.@sum.grandWeight")
      AttributeDescription("parentWeight", .integer64, derivation: "parent.parent.weight")
      RelationshipDescription("parent", toOne: "Node", inverse: "children")
      RelationshipDescription("children", toMany: "Node", inverse: "parent")
    }
    CompositeAttributeDescription("Place") { AttributeDescription("city", .string) }
  }
}

/// Recomputes derived values from the stored ones.
package struct DerivedOracle: ~Copyable {
  /// Returns the expected derived attributes of an object, without `now()`.
  package static func expected(_ id: ObjectID, _ entity: String, _ tx: borrowing ReadTransaction) throws
    -> [String: AttributeValue?]
  {
    switch entity {
    case "Library":
      let albums = try tx.members(id, "albums")
      let photos = try albums.flatMap { try tx.members($0, "photos") }
      return [
        "albumCount": .integer(Int64(albums.count)), "photoCount": .integer(Int64(photos.count)),
        "total": .integer(try integers(photos, "size", tx).reduce(0, +)),
      ]
    case "Album": return try album(id, tx)
    case "Photo", "Raw":
      let album = try tx.toOne(id, "album")
      let library = try album.flatMap { try tx.toOne($0, "library") }
      return [
        "folded": try text(id, "name", tx).map {
          .string($0.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil))
        },
        "city": try text(id, "place.city", tx).map { .string($0.lowercased()) },
        "albumTitle": try album.flatMap { try tx.value($0, "title") },
        "libraryName": try library.flatMap { try tx.value($0, "name") }, "tagWeight": try tagWeight(id, tx),
      ]
    case "Tag":
      let photos = try tx.members(id, "photos")
      var heaviest: Int64?
      for photo in photos {
        if case .integer(let weight)? = try tagWeight(photo, tx) { heaviest = max(heaviest ?? .min, weight) }
      }
      return ["photoCount": .integer(Int64(photos.count)), "heaviest": heaviest.map { .integer($0) }]
    case "Node":
      let children = try tx.members(id, "children")
      let grandchildren = try children.flatMap { try tx.members($0, "children") }
      let great = try grandchildren.flatMap { try tx.members($0, "children") }
      let grandparent = try tx.toOne(id, "parent").flatMap { try tx.toOne($0, "parent") }
      return [
        "childWeight": .integer(try integers(children, "weight", tx).reduce(0, +)),
        "grandWeight": .integer(try integers(grandchildren, "weight", tx).reduce(0, +)),
        "greatWeight": .integer(try integers(great, "weight", tx).reduce(0, +)),
        "parentWeight": try grandparent.flatMap { try tx.value($0, "weight") },
      ]
    default: return [:]
    }
  }

  private static func album(_ id: ObjectID, _ tx: borrowing ReadTransaction) throws -> [String: AttributeValue?] {
    let photos = try tx.members(id, "photos")
    let sizes = try integers(photos, "size", tx)
    let total = sizes.reduce(0, +)
    var weight = 0.0
    var price = Decimal(0)
    var names: [String] = []
    for photo in photos {
      if case .double(let value)? = try tx.value(photo, "weight") { weight += value }
      if case .decimal(let value)? = try tx.value(photo, "price") { price += value }
      if let name = try text(photo, "name", tx) {
        names.append(name.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil))
      }
    }
    let library = try tx.toOne(id, "library")
    let cover = try tx.toOne(id, "cover")
    return [
      "photoCount": .integer(Int64(photos.count)), "total": .integer(total),
      "small": Int16(exactly: total).map { .integer(Int64($0)) }, "least": sizes.min().map { .integer($0) },
      "greatest": sizes.max().map { .integer($0) },
      "average": sizes.isEmpty ? nil : .double(Double(total) / Double(sizes.count)), "weight": .double(weight),
      "price": .decimal(price),
      "lastName": names.max { $0.utf8.lexicographicallyPrecedes($1.utf8) }.map { .string($0) },
      "libraryName": try library.flatMap { try tx.value($0, "name") },
      "coverName": try cover.flatMap { try text($0, "name", tx) }.map { .string($0.uppercased()) },
    ]
  }

  private static func tagWeight(_ photo: ObjectID, _ tx: borrowing ReadTransaction) throws -> AttributeValue? {
    // The sum may exceed 64 bits.
    let weights = try integers(try tx.members(photo, "tags"), "weight", tx)
    return Int64(exactly: weights.reduce(Int128(0)) { $0 + Int128($1) }).map { .integer($0) }
  }

  private static func integers(_ ids: [ObjectID], _ name: String, _ tx: borrowing ReadTransaction) throws -> [Int64] {
    var values: [Int64] = []
    for id in ids { if case .integer(let value)? = try tx.value(id, name) { values.append(value) } }
    return values
  }

  private static func text(_ id: ObjectID, _ name: String, _ tx: borrowing ReadTransaction) throws -> String? {
    if case .string(let text)? = try tx.value(id, name) { return text }
    return nil
  }
}

extension ObjectStore {
  /// Compares every derived attribute of the store with the slow evaluator, and checks the store.
  package func expectDerived(_ place: String = "", _ location: SourceLocation = #_sourceLocation) throws {
    let model = self.model
    try read { tx in
      for entity in model.entities {
        var ids: [ObjectID] = []
        try tx.forEachObject(of: entity.name, includesSubentities: false) { object in
          ids.append(object.id)
          return true
        }
        for id in ids {
          for (name, wanted) in try DerivedOracle.expected(id, entity.name, tx) {
            let found = try tx.value(id, name)
            #expect(found == wanted, "\(entity.name)/\(id.serial).\(name) \(place)", sourceLocation: location)
          }
        }
      }
    }
    try checked(self, sourceLocation: location)
  }
}
