#if Postgres
  import Foundation
  import KVClone
  import KVCloneTestSupport
  import Testing

  @testable import KVClonePostgres

  /// Clones of graphs in a cluster: their round trips, which a network makes slow.
  @Suite("Clones in a cluster", .enabled(if: ClusterFixture.isAvailable, "KVCLONE_POSTGRES names none"))
  struct CloneTests {
    private static let model = ManagedObjectModel("Library") {
      EntityDescription("Library") {
        AttributeDescription("name", .string)
        RelationshipDescription("albums", toMany: "Album", inverse: "library", deleteRule: .cascade)
      }
      EntityDescription("Album") {
        AttributeDescription("title", .string)
        RelationshipDescription("library", toOne: "Library", inverse: "albums")
        RelationshipDescription("photos", toMany: "Photo", inverse: "album", deleteRule: .cascade)
      }
      EntityDescription("Photo") {
        AttributeDescription("title", .string)
        RelationshipDescription("album", toOne: "Album", inverse: "photos")
        RelationshipDescription("tags", toMany: "Tag", inverse: "photos")
      }
      EntityDescription("Tag") {
        AttributeDescription("name", .string)
        RelationshipDescription("photos", toMany: "Photo", inverse: "tags")
      }
    }

    @Test("a clone of 10,000 objects that nothing has cached takes at most 60 round trips")
    func roundTrips() throws {
      let server = try PostgresServer(caches: true, isEmpty: true)
      defer { server.drop() }
      let store = try server.cluster.createStore(server.name, model: Self.model)
      let library = try store.write { tx in
        let tags = try (0..<200).map { try tx.insert("Tag", ["name": .string("tag \($0)")]) }
        let library = try tx.insert("Library", ["name": "all"])
        for album in 0..<99 {
          let owner = try tx.insert(
            "Album", ["title": .string("album \(album)")], relationships: ["library": [library]])
          for photo in 0..<100 {
            try tx.insert(
              "Photo", ["title": .string("photo \(album) \(photo)")],
              relationships: ["album": [owner], "tags": [tags[photo], tags[100 + album]]])
          }
        }
        return library
      }
      store.close()
      let again = try server.cluster.openStore(server.name)
      defer { again.close() }
      let before = server.cluster.pool.roundTrips.count
      let result = try again.clone([library])
      let count = server.cluster.pool.roundTrips.count - before
      #expect(result.objectCount == 10_000)
      #expect(count <= 60, "\(count) round trips")
      try checked(again)
    }
  }
#endif
