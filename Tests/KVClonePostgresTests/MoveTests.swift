#if Postgres
  import Foundation
  import KVClone
  import KVCloneCore
  import KVCloneOperations
  import KVCloneRecords
  import KVCloneTestSupport
  import Testing

  @testable import KVClonePostgres

  @Suite(
    "Moves of stores between clusters", .serialized,
    .enabled(if: ClusterFixture.isAvailable, "KVCLONE_POSTGRES names none"))
  struct MoveTests {
    private let places: MovePlaces

    init() throws { places = try MovePlaces() }

    private static func item(_ number: Int) -> [String: AttributeValue] { ["number": .decimal(Decimal(number))] }

    /// A store at the source with a snapshot, history, links and a blob.
    private func fill() throws -> ObjectStore {
      let fixture = try CheckFixture()
      fixture.store.close()
      try places.source.copyStore(at: fixture.files.path, as: places.name)
      let store = try places.source.openStore(places.name, options: .tracking(author: "test"))
      try store.createSnapshot(named: "before")
      try store.set(fixture.items[3], "title", .string("changed since"))
      return store
    }

    @Test("a moved store is the same with its snapshots and history, and the old place refuses everything")
    func idle() throws {
      let (places, store) = (places, try fill())
      let expected = try MovePlaces.image(of: store)
      let (uuid, token) = (store.uuid, try #require(try store.history().last).token)
      let number = try #require(try places.source.stores().first { $0.name == places.name }).commitNumber
      let pinned = try store.pinnedSnapshot()
      let phases = ContractBox([OperationProgress.Phase]())
      let switched = Locked(0)
      let result = try places.source.moveStore(
        places.name, to: places.target, progress: { progress in phases.change { $0.append(progress.phase) } },
        didSwitch: { switched.withLock { $0 += 1 } })
      #expect(switched.withLock { $0 } == 1)
      #expect(result.entryCount == UInt64(expected.values.reduce(0) { $0 + $1.count }) && result.byteCount > 5000)
      #expect(Set(phases.value) == [.copy, .apply, .verify, .publish])
      let moved = try places.target.openStore(places.name, options: .tracking(author: "test"))
      #expect(try MovePlaces.image(of: moved) == expected)
      #expect(moved.uuid == uuid)
      #expect(try places.target.stores().first { $0.name == places.name }?.commitNumber == number)
      try checked(moved)
      #expect(try moved.check(CheckOptions(readData: true)).isClean)
      #expect(try moved.snapshots().map(\.name) == ["before"])
      try moved.insert("Tag", ["name": .string("green")])
      #expect(try moved.history(after: token).count == 1)
      // The old place: open stores, new ones, and the pinned snapshot, which keeps its state.
      expectError(.storeMoved) { try store.write { tx in _ = try tx.insert("Tag", ["name": .string("lost")]) } }
      expectError(.storeMoved) { try store.read { _ in } }
      expectError(.storeMoved) { _ = try places.source.openStore(places.name) }
      expectError(.storeMoved) { _ = try places.source.openStore(places.name, model: CheckFixture.model) }
      expectError(.storeMoved) { _ = try places.source.createStore(places.name, model: CheckFixture.model) }
      #expect(try pinned.read { try $0.name(of: try $0.objectID(named: "Folder/1")) } == "Folder/1")
      pinned.close()
      #expect(try !places.source.stores().contains { $0.name == places.name })
      #expect(try MovePlaces.strayEntryCount(places.source, places.name) == 0)
      // A repeated move finds nothing to do.
      #expect(try places.source.moveStore(places.name, to: places.target).commitCount == 0)
      expectError(.storeMoved) { try places.source.drop(places.name) }
      expectError(.storeNotFound) { try places.target.deleteMoveMarker(places.name) }
      try places.source.deleteMoveMarker(places.name)
      expectError(.storeNotFound) { _ = try places.source.openStore(places.name) }
      #expect(try MovePlaces.image(of: moved).count == expected.count)
    }

    @Test("changes during the copy arrive: single keys, ranges, deletions and new blobs", arguments: [false, true])
    func follows(isListed: Bool) throws {
      let (places, store) = (places, try fill())
      let cluster = places.source
      let before = try store.countObjects("Item")
      func change() throws {
        let ids = try store.write { tx in try (100..<130).map { try tx.insert("Item", Self.item($0)) } }
        try store.write { tx in for id in ids.prefix(10) { try tx.delete(id) } }
        let photo = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7 >> 2) })
        try store.set(ids[20], "photo", .binary(photo))
        // Above the length for which a commit lists its keys.
        try store.write { tx in for number in 1000..<6000 { try tx.insert("Item", Self.item(number)) } }
        try store.deleteSnapshot(named: "before")
        if !isListed {
          _ = try cluster.pool.run([
            PostgresStatement(
              """
              DELETE FROM kvclone.commit c USING kvclone.store s \
              WHERE s.name = $1 AND c.store = s.id AND c.number < s.number
              """, [.text(places.name)])
          ])
        }
      }
      let result = try places.move(at: .copied, change)
      #expect(isListed ? result.commitCount >= 5 : result.commitCount == 0)
      let moved = try places.target.openStore(places.name)
      #expect(try moved.countObjects("Item") == before + 20 + 5000)
      try checked(moved)
      #expect(try moved.check(CheckOptions(readData: true)).isClean)
    }

    @Test("changes after the verification arrive")
    func followsLate() throws {
      let (places, store) = (places, try fill())
      let before = try store.countObjects("Item")
      try places.move(at: .verified) {
        try store.write { tx in for number in 1000..<6000 { try tx.insert("Item", Self.item(number)) } }
        try store.insert("Item", Self.item(9999))
      }
      let moved = try places.target.openStore(places.name)
      #expect(try moved.countObjects("Item") == before + 5001)
      try checked(moved)
    }

    @Test("a move that is killed anywhere leaves one place that accepts writes, and is ended or begun again")
    func crashes() throws {
      for point in MoveRun.Point.allCases {
        let places = try MovePlaces()
        let store = try places.source.createStore(places.name, model: CheckFixture.model)
        try store.insert("Item", Self.item(0))
        places.interrupt(at: point)
        let isMarked = [.marked, .finished].contains(point)
        var count = 1
        if isMarked {
          expectError(.storeMoved) { try store.insert("Item", Self.item(1)) }
          expectError(.storeMoved) { _ = try places.source.openStore(places.name, model: CheckFixture.model) }
        } else {
          try store.insert("Item", Self.item(1))
          count = 2
        }
        if point != .finished {
          expectError(.busy) { _ = try places.target.openStore(places.name, model: CheckFixture.model) }
        }
        if [.completed, .marked].contains(point) {
          expectError(.busy) { try places.target.drop(places.name) }
        }
        try places.source.moveStore(places.name, to: places.target)
        let moved = try places.target.openStore(places.name)
        #expect(try moved.countObjects("Item") == count, "\(point)")
        try moved.insert("Item", Self.item(2))
        try checked(moved)
        expectError(.storeMoved) { try store.insert("Item", Self.item(3)) }
        #expect(try MovePlaces.strayEntryCount(places.source, places.name) == 0)
      }
    }

    @Test("a move that fails or is cancelled before the switch leaves nothing at the destination")
    func fails() throws {
      let (places, store) = (places, try fill())
      let before = try store.countObjects("Tag")
      expectError(.io) { try places.move(at: .verified) { throw StoreError(.io, "stop") } }
      // Interrupted as by a crash: the copy remains, and is not a store.
      #expect(try places.target.stores().contains { $0.name == places.name })
      for phase in ["copy", "verify", "publish"] {
        let cancellation = Cancellation()
        expectError(.cancelled) {
          try places.source.moveStore(
            places.name, to: places.target, progress: { if $0.phase.rawValue == phase { cancellation.cancel() } },
            cancellation: cancellation)
        }
        #expect(try !places.target.stores().contains { $0.name == places.name }, "\(phase)")
        #expect(try MovePlaces.strayEntryCount(places.target, places.name) == 0)
      }
      try store.insert("Tag", ["name": .string("here")])
      _ = try places.target.createStore(places.name, model: CheckFixture.model)
      expectError(.storeExists) { try places.source.moveStore(places.name, to: places.target) }
      expectError(.storeExists) { try places.source.moveStore(places.name, to: places.source) }
      expectError(.storeNotFound) { try places.source.moveStore(places.name + "-no", to: places.target) }
      #expect(try store.countObjects("Tag") == before + 1)
    }

    @Test("a second move takes an unfinished one over, and the first one fails")
    func takenOver() throws {
      for point in [MoveRun.Point.copied, .followed, .verified] {
        let places = try MovePlaces()
        let store = try places.source.createStore(places.name, model: CheckFixture.model)
        try store.insert("Item", Self.item(0))
        var isSecond = false
        do {
          try places.move(at: point) {
            if isSecond { return }
            isSecond = true
            try places.source.moveStore(places.name, to: places.target)
            let moved = try places.target.openStore(places.name)
            try moved.insert("Item", Self.item(1))
          }
          Issue.record("both moves succeeded at \(point)")
        } catch let error as StoreError {
          #expect([.busy, .storeMoved].contains(error.kind), "\(error.message)")
        }
        let moved = try places.target.openStore(places.name)
        #expect(try moved.countObjects("Item") == 2)
        try checked(moved)
      }
    }

    @Test("there and back: the marker is replaced, and returns if the move back fails")
    func thereAndBack() throws {
      let (places, old) = (places, try fill())
      let before = try old.countObjects("Tag")
      try places.source.moveStore(places.name, to: places.target)
      let moved = try places.target.openStore(places.name)
      let cancellation = Cancellation()
      expectError(.cancelled) {
        try places.target.moveStore(
          places.name, to: places.source, progress: { if $0.phase == .verify { cancellation.cancel() } },
          cancellation: cancellation)
      }
      expectError(.storeMoved) { _ = try places.source.openStore(places.name, model: CheckFixture.model) }
      try moved.insert("Tag", ["name": .string("there")])
      try places.target.moveStore(places.name, to: places.source)
      expectError(.storeMoved) { try moved.read { _ in } }
      // The store has another id at its first place now.
      expectError(.storeNotFound) { try old.read { _ in } }
      let back = try places.source.openStore(places.name)
      #expect(try back.countObjects("Tag") == before + 1)
      try checked(back)
      try places.source.moveStore(places.name, to: places.target)
      #expect(try places.target.openStore(places.name).countObjects("Tag") == before + 1)
    }

    @Test("listeners of the old place end with an error")
    func listeners() async throws {
      let (places, store) = (places, try fill())
      let token = try #require(try store.history().last).token
      let changes = Task {
        for try await _ in store.changes(after: token) {}
      }
      try Self.move(places)
      await #expect(throws: StoreError.self) { try await changes.value }
    }

    private static func move(_ places: MovePlaces) throws {
      try places.source.moveStore(places.name, to: places.target)
    }

    @Test("the connection is lost while the source is marked: the outcome is looked up")
    func lostMark() throws {
      let fixture = try ClusterFixture(processes: 1)
      for mode in [ServerProxy.Mode.loseAnswer, .loseCommit] {
        let places = try MovePlaces()
        let store = try places.source.createStore(places.name, model: CheckFixture.model)
        try store.insert("Item", Self.item(0))
        let proxy = try ServerProxy(fixture)
        defer { proxy.stop() }
        let cluster = PostgresCluster(proxy.address)
        func move() throws {
          _ = try MoveRun(places.name, from: cluster, to: places.target, CopyProgress(nil, nil), didSwitch: nil) {
            point in
            if point == .completed { proxy.set(mode) }
          }.run()
        }
        if case .loseAnswer = mode {
          try move()
        } else {
          expectError(.io) { try move() }
          try store.insert("Item", Self.item(1))
          #expect(try !places.target.stores().contains { $0.name == places.name })
          try cluster.moveStore(places.name, to: places.target)
        }
        expectError(.storeMoved) { try store.read { _ in } }
        try checked(try places.target.openStore(places.name))
        cluster.close()
      }
    }
  }
#endif
