import ItemPeers

/// A store that requests write to. Objects have numbers, from 1, and follow from them.
protocol DurablePeer: Sendable {
  var title: String { get }

  /// The number of objects that the store was filled with.
  var filledCount: Int { get }

  /// Inserts an object in a durable transaction of its own, from a task.
  func insert(_ number: Int) async throws

  /// Compares the content of the store with the objects from 1 to `count`.
  func verify(count: Int) throws

  func close() throws
}

/// A store that a thread writes to while others read.
protocol CrowdedPeer: Sendable {
  var title: String { get }
  var filledCount: Int { get }

  /// Inserts an object in a durable transaction of its own, from a thread.
  func insertBlocking(_ number: Int) throws

  /// Returns what one thread reads with: a function that reads an object, by number, in a transaction of its own, and
  /// throws if the object is not as it was written.
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

  /// Inserts objects in one durable transaction, each in a savepoint, of which every second one throws.
  func insertInSavepoints(_ numbers: Range<Int>) throws

  /// Returns what the events of the store come to.
  func contents() throws -> RowSum

  func close() throws
}

/// What the body of a savepoint throws to have its insert rolled back.
struct Rejection: Error {}
