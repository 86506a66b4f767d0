#if Explorer
  import Testing

  @testable import KVCloneTool

  @Suite("kvclone: connections of explore")
  struct ConnectionTableTests {
    /// Adds a connection that stays in a phase.
    private func connection(_ table: ConnectionTable, _ phase: ConnectionTable.Phase) -> Task<Void, Never> {
      let place = table.admit()
      place.enter(phase)
      let task = Task<Void, Never> { _ = try? await Task.sleep(for: .seconds(3600)) }
      place.attach(task)
      return task
    }

    @Test("a full table closes those that have waited longest for their client, and none with work of the server")
    func order() {
      let table = ConnectionTable(capacity: 16, sendingTime: .zero)
      let tasks = ([.answering, .idle, .answering, .sending, .receiving, .closing] as [ConnectionTable.Phase])
        .map { connection(table, $0) }
      table.evict()
      #expect(tasks.map(\.isCancelled) == [false, true, false, true, false, false])
      table.cancelAll()
      #expect(!tasks.map(\.isCancelled).contains(false))
    }

    @Test("a client that reads a response has time for each part")
    func reader() {
      let table = ConnectionTable(capacity: 8, sendingTime: .seconds(3600))
      let tasks = ([.sending, .idle] as [ConnectionTable.Phase]).map { connection(table, $0) }
      table.evict()
      #expect(tasks.map(\.isCancelled) == [false, true])
      table.cancelAll()
    }

    @Test("clients that read nothing leave their places to others")
    func readNothing() async throws {
      let table = ConnectionTable(capacity: 8, sendingTime: .zero)
      for _ in 0..<8 {
        let place = table.admit()
        place.enter(.sending)
        place.attach(
          Task {
            do { try await Task.sleep(for: .seconds(3600)) } catch { place.leave() }
          })
      }
      try await table.waitForPlace()
      table.cancelAll()
    }

    @Test("a connection that is cancelled before its task is known cancels the task")
    func lateTask() {
      let table = ConnectionTable(capacity: 8)
      let place = table.admit()
      table.cancelAll()
      let task = Task<Void, Never> { _ = try? await Task.sleep(for: .seconds(3600)) }
      place.attach(task)
      #expect(task.isCancelled && !table.isEmpty)
      place.leave()
      #expect(table.isEmpty)
    }
  }
#endif
