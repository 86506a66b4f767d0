#if Postgres
  import Foundation
  import KVClone
  import KVCloneCore
  import KVCloneTestSupport
  import Testing

  @testable import KVClonePostgres

  @Suite(
    "Routing of tenants to clusters", .serialized,
    .enabled(if: ClusterFixture.isAvailable, "KVCLONE_POSTGRES names none"))
  struct RouterTests {
    private let places: MovePlaces

    init() throws { places = try MovePlaces() }

    @Test(
      "opening a store takes three round trips at most, also with derived attributes",
      arguments: [CheckFixture.model, DerivedModel.model])
    func roundTrips(_ model: ManagedObjectModel) throws {
      try places.source.createStore(places.name, model: model).close()
      let trips = places.source.pool.roundTrips
      for model in [nil, model] {
        let before = trips.count
        let store = try places.source.openStore(places.name, model: model)
        let count = trips.count - before
        #expect(count <= 3, "\(count) round trips")
        // Nothing was kept that another process has changed since.
        let other = try PostgresCluster(ClusterFixture.address ?? "").openStore(places.name)
        try other.createSnapshot(named: model == nil ? "first" : "second")
        #expect(try store.snapshots().count == (try other.snapshots().count))
        try checked(store)
      }
    }

    @Test("200 tenants: the stores that were used last stay open, and all can be used")
    func manyTenants() throws {
      let (source, prefix) = (places.source, places.name)
      let opened = Locked([String]())
      let router = ClusterRouter(limit: 20, model: CheckFixture.model) { tenant in
        opened.withLock { $0.append(tenant) }
        return source
      }
      let tenants = (0..<200).map { "\(prefix)/\($0)" }
      defer { for tenant in tenants { try? source.drop(tenant) } }
      for (number, tenant) in tenants.enumerated() {
        try router.write(tenant) { tx in _ = try tx.insert("Tag", ["name": .string("\(number)")]) }
        #expect(router.openStoreCount == min(20, number + 1))
      }
      opened.withLock { $0 = [] }
      for tenant in tenants.suffix(20) { #expect(try router.read(tenant) { try $0.count(entity: "Tag") } == 1) }
      #expect(opened.withLock { $0 }.isEmpty, "the last 20 stores stay open")
      _ = try router.store(for: tenants[180])
      _ = try router.store(for: tenants[0])
      _ = try router.store(for: tenants[180])
      _ = try router.store(for: tenants[181])
      #expect(opened.withLock { $0 } == [tenants[0], tenants[181]], "the store that was used last stays open")
      for tenant in tenants { #expect(try router.read(tenant) { try $0.count(entity: "Tag") } == 1) }
      router.close(tenants[199])
      #expect(router.openStoreCount == 19)
      router.closeAll()
      #expect(router.openStoreCount == 0)
    }

    @Test("a store beyond the limit stays usable for its user")
    func evicted() throws {
      let (source, name) = (places.source, places.name)
      let router = ClusterRouter(limit: 1, model: CheckFixture.model) { _ in source }
      defer { try? source.drop(name + "/other") }
      let count = try router.withStore(name) { store in
        _ = try router.store(for: name + "/other")
        #expect(router.openStoreCount == 1)
        try store.insert("Tag", ["name": .string("a")])
        return try store.countObjects("Tag")
      }
      #expect(count == 1)
    }

    @Test("threads that open one tenant at the same time open it once")
    func concurrentOpening() throws {
      let (source, name) = (places.source, places.name)
      let count = Locked(0)
      let router = ClusterRouter(model: CheckFixture.model) { _ in
        count.withLock { $0 += 1 }
        usleep(20_000)
        return source
      }
      let stores = Locked([ObjectStore]())
      DispatchQueue.concurrentPerform(iterations: 8) { _ in
        do {
          let store = try router.store(for: name)
          stores.withLock { $0.append(store) }
        } catch {
          Issue.record("\(error)")
        }
      }
      #expect(count.withLock { $0 } == 1)
      #expect(stores.withLock { stores in stores.count == 8 && stores.allSatisfy { $0 === stores[0] } })
    }

    private struct NoPlace: Error {}

    @Test("an error of the closure is thrown, and the next call asks again")
    func closureThrows() throws {
      let (source, name) = (places.source, places.name)
      let fails = Locked(true)
      let router = ClusterRouter(model: CheckFixture.model) { _ in
        if fails.withLock({ $0 }) { throw NoPlace() }
        return source
      }
      #expect(throws: NoPlace.self) { try router.store(for: name) }
      #expect(throws: NoPlace.self) { try router.read(name) { _ in } }
      fails.withLock { $0 = false }
      try router.read(name) { _ in }
      // A store that is open needs no closure.
      fails.withLock { $0 = true }
      try router.read(name) { _ in }
    }

    @Test("after a move, transactions begin at the new place, and no body runs twice")
    func moved() async throws {
      let (source, target, name) = (places.source, places.target, places.name)
      let isMoved = Locked(false)
      let router = ClusterRouter(model: CheckFixture.model) { _ in isMoved.withLock { $0 } ? target : source }
      try await router.write(name) { tx in _ = try tx.insert("Tag", ["name": .string("a")]) }
      let old = try router.store(for: name)
      try Self.move(name, source, target, isMoved)
      let runs = Locked(0)
      try await router.write(name) { tx in
        runs.withLock { $0 += 1 }
        _ = try tx.insert("Tag", ["name": .string("b")])
      }
      #expect(runs.withLock { $0 } == 1)
      #expect(try await router.read(name) { try $0.count(entity: "Tag") } == 2)
      #expect(try router.store(for: name) !== old)
      // An error of the body is not one of the begin.
      let again = Locked(0)
      await #expect(throws: StoreError.self) {
        try await router.write(name) { (_) -> Void in
          again.withLock { $0 += 1 }
          throw StoreError(.storeMoved, "of another store")
        }
      }
      #expect(again.withLock { $0 } == 1)
    }

    @Test("a move is followed also if the call has waited as long as the timeout before")
    func lateCalls() async throws {
      let (source, target, name) = (places.source, places.target, places.name)
      let isMoved = Locked(false)
      let router = ClusterRouter(model: CheckFixture.model, moveTimeout: .zero) { _ in
        isMoved.withLock { $0 } ? target : source
      }
      try await router.write(name) { tx in _ = try tx.insert("Tag", ["name": .string("a")]) }
      try Self.move(name, source, target, isMoved)
      try await router.write(name) { tx in _ = try tx.insert("Tag", ["name": .string("b")]) }
      try Self.move(name, target, source, isMoved)
      #expect(try Self.count(router, name) == 2)
    }

    /// Reads in the synchronous form.
    private static func count(_ router: ClusterRouter, _ name: String) throws -> Int {
      try router.read(name) { try $0.count(entity: "Tag") }
    }

    private static func move(
      _ name: String, _ source: PostgresCluster, _ target: PostgresCluster, _ isMoved: Locked<Bool>
    ) throws {
      try source.moveStore(name, to: target, didSwitch: { isMoved.withLock { $0.toggle() } })
    }

    @Test("a closure that still names the old place: the error says so, and nothing is created there")
    func staleRoute() throws {
      let (source, target, name) = (places.source, places.target, places.name)
      let router = ClusterRouter(model: CheckFixture.model, moveTimeout: .milliseconds(100)) { _ in source }
      try router.write(name) { tx in _ = try tx.insert("Tag", ["name": .string("a")]) }
      try source.moveStore(name, to: target)
      expectError(.storeMoved) { try router.write(name) { _ in _ = Issue.record("ran") } }
      expectError(.storeMoved) { _ = try router.store(for: name) }
      #expect(try target.openStore(name).countObjects("Tag") == 1)
    }
  }
#endif
