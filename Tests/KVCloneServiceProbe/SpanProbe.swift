#if Service && Tracing
  import Foundation
  import InMemoryTracing
  import KVClone
  import KVCloneMerge
  import KVCloneOperations
  import Tracing

  extension Probe {
    private static let value = "a title that no span contains"

    private struct Rejection: Error {
      let title: String
    }

    /// Operations have spans with the right names, parents and attributes, on whatever threads they run.
    func checkSpans() async throws {
      let tracer = InMemoryTracer()
      try await withTracer(tracer) { try await runRequest() }
      findings.expect(tracer.activeSpans.isEmpty, "all spans have ended")
      let spans = tracer.finishedSpans
      checkNames(spans)
      for span in spans where span.operationName != "request" { checkAttributes(span) }
      try checkThread()
    }

    private func runRequest() async throws {
      let path = root + "/traced.kvclone"
      try await withSpan("request") { _ in
        let store = try ObjectStore.create(at: path, model: model)
        let note = try await store.write { tx in
          let note = try tx.insert("Note", ["title": Self.value])
          _ = try tx.insert("Note", ["title": Self.value])
          _ = try tx.fetchIDs(FetchRequest("Note"))
          return note
        }
        _ = try await store.read { tx in
          try tx.fetch(FetchRequest("Note", predicate: QueryPredicate(format: "title == '\(Self.value)'")))
        }
        readOnThisThread(store)
        var options = CloneOptions()
        options.keepsBase = true
        let draft = try await store.clone([note], options: options).root
        _ = try await store.drafts.merge(draft)
        _ = try await store.startClone([note]).result
        _ = try await store.backup(to: root + "/traced.backup")
        do {
          try await store.write { tx in _ = try tx.insert("Unknown") }
        } catch {}
        do {
          try await store.write { _ in throw Rejection(title: Self.value) }
        } catch {}
        store.close()
        try migrate(path)
      }
    }

    private func readOnThisThread(_ store: ObjectStore) {
      let count = try? store.read { tx in try tx.count(FetchRequest("Note")) }
      findings.expect(count == 2, "a traced read returns its result")
    }

    private func migrate(_ path: String) throws {
      let next = ManagedObjectModel("Notes") {
        EntityDescription("Note") {
          AttributeDescription("title", .string)
          AttributeDescription("body", .string)
        }
      }
      _ = try ObjectStore.planMigration(at: path, to: next)
      try ObjectStore.migrate(at: path, to: next)
    }

    private func checkNames(_ spans: [FinishedInMemorySpan]) {
      guard let request = spans.first(where: { $0.operationName == "request" }) else {
        return findings.expect(false, "the program's own span was recorded")
      }
      func children(_ parent: FinishedInMemorySpan) -> [FinishedInMemorySpan] {
        spans.filter { $0.parentSpanID == parent.spanID }
      }
      let operations = children(request)
      // In the order of their ends, which is that of the calls. The plan of the migration has no span.
      let names = operations.map(\.operationName)
      findings.expect(
        names == ["write", "read", "read", "clone", "merge", "clone", "backup", "write", "write", "migrate"],
        "the spans of the request are \(names)")
      findings.expect(spans.allSatisfy { $0.traceID == request.traceID }, "all spans belong to one trace")
      guard operations.count == 10 else { return }
      findings.expect(
        children(operations[0]).map(\.operationName) == ["fetch Note"], "a fetch in a write has its span as parent")
      let read = children(operations[1])
      findings.expect(read.map(\.operationName) == ["fetch Note"], "a fetch in a read has its span as parent")
      findings.expect(
        read.first?.attributes.get("db.response.returned_rows") == .int64(2), "a fetch records the number of results")
      findings.expect(
        children(operations[2]).map(\.operationName) == ["fetch Note"], "a count has a span")
      findings.expect(
        operations[7].attributes.get("error.type") == .string("unknownEntity"), "an error is recorded by its kind")
      let rejection = operations[8].attributes.get("error.type").map { "\($0)" } ?? ""
      findings.expect(rejection.contains("Rejection"), "an error of the program is recorded by its type: \(rejection)")
      findings.expect(
        [7, 8].allSatisfy { operations[$0].status?.code == .error } && operations[0].status == nil,
        "failed operations have the status error, and others none")
    }

    private func checkAttributes(_ span: FinishedInMemorySpan) {
      let name = span.operationName
      let attributes = span.attributes
      let words = name.split(separator: " ").map(String.init)
      findings.expect(attributes.get("db.system.name") == .string("kvclone"), "\(name) names the system")
      findings.expect(attributes.get("db.operation.name") == .string(words[0]), "\(name) names its operation")
      findings.expect(attributes.get("db.namespace") == .string("traced.kvclone"), "\(name) names its store")
      findings.expect(
        attributes.get("db.collection.name") == (words.count > 1 ? .string(words[1]) : nil), "\(name) names its entity")
      findings.expect(attributes.get("server.address") == nil, "\(name) of a local store has no server")
      findings.expect(span.kind == .internal, "\(name) of a local store calls no server")
      findings.expect(span.errors.isEmpty && span.events.isEmpty, "\(name) records no messages")
      attributes.forEach { key, value in
        findings.expect(!"\(value)".contains(Self.value), "\(name) has a value of an object in \(key)")
      }
    }

    /// The tracer of the process is used on a thread without a task.
    private func checkThread() throws {
      let tracer = InMemoryTracer()
      InstrumentationSystem.bootstrap(tracer)
      let store = try ObjectStore.open(at: root + "/traced.kvclone")
      defer { store.close() }
      let done = DispatchSemaphore(value: 0)
      Thread.detachNewThread {
        _ = try? store.write { tx in try tx.insert("Note") }
        done.signal()
      }
      done.wait()
      let names = tracer.finishedSpans.map(\.operationName)
      findings.expect(names == ["write"], "the spans of a thread are \(names)")
    }
  }
#endif
