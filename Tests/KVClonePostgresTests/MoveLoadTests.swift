#if Postgres
  import Foundation
  import KVClone
  import KVCloneCore
  import KVCloneOperations
  import KVCloneTestSupport
  import Testing

  @testable import KVClonePostgres

  /// `KVCLONE_POSTGRES_ROUNDS` is the number of moves.
  @Suite(
    "Moves under load", .serialized, .enabled(if: ClusterFixture.isAvailable, "KVCLONE_POSTGRES names none"))
  struct MoveLoadTests {
    /// The numbers of a writer, and its last error.
    private struct Writer: Sendable {
      var acknowledged: [Int] = []
      var failure: String?
    }

    private static let writerCount = 4
    private static let moveCount =
      ProcessInfo.processInfo.environment["KVCLONE_POSTGRES_ROUNDS"].flatMap(Int.init) ?? 2

    @Test("four writers use a store through a router while it moves: every acknowledged write is there once")
    func writers() throws {
      let places = try MovePlaces()
      let isAtTarget = ContractBox(false)
      let router = ClusterRouter(model: CheckFixture.model, options: .tracking(), moveTimeout: .seconds(60)) { _ in
        isAtTarget.value ? places.target : places.source
      }
      let name = places.name
      try router.write(name) { tx in
        // Enough for several rounds of changes.
        for number in 1...3000 { try tx.insert("Item", ["number": .decimal(Decimal(-number))]) }
      }
      let token = try #require(try router.store(for: name).history().last).token
      let isStopped = ContractBox(false)
      let writers = (0..<Self.writerCount).map { _ in ContractBox(Writer()) }
      let group = DispatchGroup()
      for (index, writer) in writers.enumerated() {
        let thread = Thread {
          var number = index
          do {
            while !isStopped.value {
              // Repeated by its own begin only, so that an error is a lost write.
              try router.write(name, timeout: .seconds(30)) { tx in
                _ = try tx.insert("Item", ["number": .decimal(Decimal(number))])
              }
              let written = number
              writer.change { $0.acknowledged.append(written) }
              if number % 50 == index { _ = try router.read(name) { try $0.count(entity: "Item") } }
              number += Self.writerCount
            }
          } catch {
            let text = "\(error)"
            writer.change { $0.failure = text }
          }
          group.leave()
        }
        group.enter()
        thread.start()
      }
      defer {
        isStopped.change { $0 = true }
        group.wait()
      }
      /// Waits until the writers have made more writes.
      func wait(after count: Int) {
        let end = ContinuousClock.now + .seconds(600)
        while writers.reduce(0, { $0 + $1.value.acknowledged.count }) < count + 40, ContinuousClock.now < end {
          usleep(5_000)
        }
      }
      wait(after: 0)
      var pauses: [Double] = []
      var commits = 0
      for _ in 0..<Self.moveCount {
        let (from, to) = isAtTarget.value ? (places.target, places.source) : (places.source, places.target)
        let before = writers.reduce(0) { $0 + $1.value.acknowledged.count }
        let result = try from.moveStore(name, to: to, didSwitch: { isAtTarget.change { $0.toggle() } })
        pauses.append(result.writePause.seconds)
        commits += result.commitCount
        // The writers continue at the new place.
        wait(after: before)
        expectError(.storeMoved) { _ = try from.openStore(name) }
        #expect(try MovePlaces.strayEntryCount(from, name) == 0)
      }
      isStopped.change { $0 = true }
      group.wait()
      for writer in writers { #expect(writer.value.failure == nil) }
      let acknowledged = writers.flatMap(\.value.acknowledged)
      let longest = pauses.max() ?? 0
      print("moves: \(pauses.count), writes: \(acknowledged.count), followed: \(commits), longest pause: \(longest) s")
      #expect(commits > 0, "no write was made during the copies")
      let store = try (isAtTarget.value ? places.target : places.source).openStore(name)
      let stored = try store.read { tx in
        try tx.fetch(FetchRequest("Item")).compactMap { item -> Int? in
          guard case .decimal(let number) = try item.value("number") else { return nil }
          return number < 0 ? nil : Int(truncating: number as NSDecimalNumber)
        }
      }
      #expect(stored.sorted() == acknowledged.sorted(), "stored and acknowledged writes differ")
      #expect(try store.history(after: token).count == acknowledged.count)
      #expect(try store.countObjects("Item") == 3000 + acknowledged.count)
      try checked(store)
    }
  }
#endif
