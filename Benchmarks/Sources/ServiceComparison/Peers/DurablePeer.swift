import ItemPeers

/// A store that requests write to. Objects are determined by their numbers, from 1.
protocol DurablePeer: Sendable {
  var title: String { get }

  /// The initial number of objects.
  var filledCount: Int { get }

  /// Inserts an object in its own durable transaction, from a task.
  func insert(_ number: Int) async throws

  /// Compares the content of the store with the objects from 1 to `count`.
  func verify(count: Int) throws

  func close() throws
}

/// A store with one writing thread and concurrent readers.
protocol CrowdedPeer: Sendable {
  var title: String { get }
  var filledCount: Int { get }

  /// Inserts an object in its own durable transaction, from a thread.
  func insertBlocking(_ number: Int) throws

  /// Returns the reader of one thread: a function that reads an object by number in its own transaction, and throws if
  /// the object is wrong.
  func makeReader() throws -> (Int) throws -> Void

  func verify(count: Int) throws
  func close() throws
}

/// A store with savepoints.
protocol NestingPeer: Sendable {
  var title: String { get }
  var filledCount: Int { get }

  /// Inserts objects in one durable transaction.
  func insert(_ numbers: Range<Int>) throws

  /// Inserts objects in one durable transaction, each in a savepoint; every second savepoint throws.
  func insertInSavepoints(_ numbers: Range<Int>) throws

  /// Returns a checksum of the events in the store.
  func contents() throws -> RowSum

  func close() throws
}

/// The error that rolls back a savepoint.
struct Rejection: Error {}
