import BenchmarkSupport
import ItemPeers
import KVClone

/// Events in a KVClone store.
struct KVCloneEvents: DurablePeer, CrowdedPeer, NestingPeer {
  let title: String
  let filledCount: Int
  private let store: ObjectStore
  private let keys: Keys
  /// The root code of the ids of events.
  private let rootCode: UInt16
  /// The expected digests of the initial objects.
  private let digests: [UInt64]

  private static func model(isIndexed: Bool) -> ManagedObjectModel {
    let indexes = isIndexed ? [FetchIndexDescription("bySequence", [.init("sequence")])] : []
    return ManagedObjectModel("Events") {
      EntityDescription("Event", indexes: indexes) {
        AttributeDescription("sequence", .integer64)
        AttributeDescription("subject", .string)
        AttributeDescription("body", .string)
      }
    }
  }

  /// Creates a store with the events from 1 to `count`.
  init(in folder: String, journalMode: JournalMode, isIndexed: Bool = false, filledWith count: Int) throws {
    title = journalMode == .writeAheadLog ? "KVClone, write-ahead log" : "KVClone, copy-on-write"
    filledCount = count
    var options = StoreOptions()
    options.journalMode = journalMode
    store = try ObjectStore.create(at: folder, model: Self.model(isIndexed: isIndexed), options: options)
    keys = try Keys(store)
    digests = (1...count).map { Event($0).digest }
    rootCode = try store.write { transaction in
      for number in 1..<count { try Self.insert(number, &transaction) }
      return try Self.insert(count, &transaction).rootCode
    }
  }

  @discardableResult
  private static func insert(_ number: Int, _ transaction: inout WriteTransaction) throws -> ObjectID {
    let event = Event(number)
    return try transaction.insert(
      "Event",
      ["sequence": .integer(Int64(event.sequence)), "subject": .string(event.subject), "body": .string(event.body)])
  }

  func insert(_ number: Int) async throws {
    try await store.write { transaction in try Self.insert(number, &transaction) }
  }

  func insertBlocking(_ number: Int) throws {
    try store.write { transaction in try Self.insert(number, &transaction) }
  }

  func insert(_ numbers: Range<Int>) throws {
    try store.write { transaction in
      for number in numbers { try Self.insert(number, &transaction) }
    }
  }

  func insertInSavepoints(_ numbers: Range<Int>) throws {
    try store.write { transaction in
      for number in numbers {
        do {
          try transaction.savepoint { transaction in
            try Self.insert(number, &transaction)
            if !number.isMultiple(of: 2) { throw Rejection() }
          }
        } catch is Rejection {}
      }
    }
  }

  func makeReader() throws -> (Int) throws -> Void {
    { number in
      try store.read { transaction in
        let id = ObjectID(rootCode: rootCode, serial: UInt64(number))
        try transaction.withObject(id) { object in
          guard try keys.event(object).digest == digests[number - 1] else {
            throw PeerFailure("a reader of KVClone saw another event \(number) than was written")
          }
        }
      }
    }
  }

  func contents() throws -> RowSum {
    try store.read { transaction in
      var sum = RowSum()
      try transaction.forEachView(matching: FetchRequest("Event")) { object in
        sum.add(try keys.event(object).digest)
        return true
      }
      guard sum.rows == (try transaction.count(entity: "Event")) else {
        throw PeerFailure("KVClone counts other events than it has")
      }
      return sum
    }
  }

  func verify(count: Int) throws { try contents().verify(title, events: 1...count) }

  func close() { store.close() }

  /// The attributes, looked up once, like the columns of statements.
  private struct Keys: Sendable {
    private let sequence: AttributeKey<Int>
    private let subject, body: AttributeKey<String>

    init(_ store: ObjectStore) throws {
      sequence = try store.attribute("Event", "sequence")
      subject = try store.attribute("Event", "subject")
      body = try store.attribute("Event", "body")
    }

    func event(_ object: ObjectView) throws -> Event {
      guard let sequence = try object.value(sequence), let subject = try object.value(subject),
        let body = try object.value(body)
      else { throw PeerFailure("\(object.name) lacks an attribute") }
      return Event(sequence: sequence, subject: subject, body: body)
    }
  }
}
