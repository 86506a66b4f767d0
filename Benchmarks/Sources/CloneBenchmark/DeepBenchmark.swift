import BenchmarkSupport
import Foundation
import KVClone
import KVCloneOperations

/// Clones graphs that overflow the stack of a recursive clone (R3): a linked list and trees of a million objects, on a
/// small stack.
enum DeepBenchmark {
  static let stackBytes = 512 * 1024

  static let model = ManagedObjectModel("Deep") {
    EntityDescription("Node") {
      AttributeDescription("number", .integer64)
      RelationshipDescription("next", toOne: "Node", inverse: "previous")
      RelationshipDescription("previous", toOne: "Node", inverse: "next")
      RelationshipDescription("parent", toOne: "Node", inverse: "children")
      RelationshipDescription("children", toMany: "Node", inverse: "parent", ordered: true)
    }
  }

  /// The structure of the graph.
  enum Shape: String, CaseIterable {
    case list = "linked list"
    case tree = "binary tree"
    case path = "tree that is one path"
  }

  /// An incomplete or wrong clone.
  struct Incomplete: Error, CustomStringConvertible {
    let description: String
  }

  static func run(in directory: String, quick: Bool) throws {
    let count = quick ? 50_000 : 1_000_000
    report("deep: \(count) objects, cloned on a thread with a stack of \(stackBytes / 1024) KiB")
    for shape in Shape.allCases {
      let outcome = Outcome<String>()
      let thread = Thread {
        do { outcome.set(.success(try clone(shape, count, directory))) } catch { outcome.set(.failure(error)) }
      }
      thread.stackSize = stackBytes
      thread.start()
      report("  \(shape.rawValue): \(try outcome.wait().get())")
    }
  }

  /// Creates, clones and traverses one graph on this thread.
  private static func clone(_ shape: Shape, _ count: Int, _ directory: String) throws -> String {
    let stack = remainingStackBytes()
    guard let stack, stack <= stackBytes else {
      let found = stack.map { "\($0) bytes" } ?? "of unknown size"
      throw Incomplete(description: "the thread's stack is \(found), not \(stackBytes): this would show nothing")
    }
    let workspace = try Workspace(in: directory)
    defer { workspace.remove() }
    let store = try ObjectStore.create(at: workspace.path + "/store", model: model)
    defer { store.close() }
    let root = try store.write { transaction in try make(shape, count, &transaction) }
    let result = try store.clone([root])
    guard result.objectCount == count else {
      throw Incomplete(description: "\(result.objectCount) of \(count) objects were cloned")
    }
    let found = try store.read { transaction in try follow(shape, from: result.root, transaction) }
    guard found == count else {
      throw Incomplete(description: "\(found) of \(count) clones hang together as their sources do")
    }
    let damages = try store.check().issues
    guard damages.isEmpty else { throw Incomplete(description: "the check finds \(damages.count) damages") }
    let seconds = result.duration.seconds
    let each = fixed(seconds * 1e9 / Double(count))
    return "\(found) clones in \(fixed(seconds, 2)) s (\(each) ns each), followed and checked"
  }

  private static func make(_ shape: Shape, _ count: Int, _ transaction: inout WriteTransaction) throws -> ObjectID {
    var nodes: [ObjectID] = []
    nodes.reserveCapacity(count)
    for number in 0..<count {
      var links: [String: [ObjectID]] = [:]
      if number > 0 {
        switch shape {
        case .list: links["previous"] = [nodes[number - 1]]
        case .tree: links["parent"] = [nodes[(number - 1) / 2]]
        case .path: links["parent"] = [nodes[number - 1]]
        }
      }
      nodes.append(try transaction.insert("Node", ["number": .integer(Int64(number))], relationships: links))
    }
    return nodes[0]
  }

  /// Walks the clone breadth first, and counts its objects until one is not at its expected position.
  private static func follow(_ shape: Shape, from root: ObjectID, _ transaction: borrowing ReadTransaction) throws
    -> Int
  {
    var waiting = [root]
    var found = 0
    while found < waiting.count {
      let node = waiting[found]
      guard try transaction.value(node, "number") == .integer(Int64(found)) else { return found }
      found += 1
      waiting += try transaction.members(node, shape == .list ? "next" : "children")
    }
    return found
  }

  /// The remaining stack of this thread: down to the guard page at the start of its mapping.
  private static func remainingStackBytes() -> Int? {
    var here = 0
    let address = withUnsafePointer(to: &here) { UInt(bitPattern: $0) }
    // Read in parts, because one read of a file in /proc returns at most a page.
    guard let file = FileHandle(forReadingAtPath: "/proc/self/maps") else { return nil }
    var maps = Data()
    while let piece = try? file.read(upToCount: 1 << 16), !piece.isEmpty { maps += piece }
    for line in String(decoding: maps, as: UTF8.self).split(separator: "\n") {
      let bounds = line.prefix { $0 != " " }.split(separator: "-").compactMap { UInt($0, radix: 16) }
      if bounds.count == 2, bounds[0] <= address, address < bounds[1] { return Int(address - bounds[0]) }
    }
    return nil
  }
}

/// Passes a thread's result to the thread that waits for it.
final class Outcome<Value>: @unchecked Sendable {
  private let condition = NSCondition()
  private var result: Result<Value, any Error>?

  func set(_ value: Result<Value, any Error>) {
    condition.lock()
    result = value
    condition.signal()
    condition.unlock()
  }

  func wait() -> Result<Value, any Error> {
    condition.lock()
    defer { condition.unlock() }
    while true {
      if let result { return result }
      condition.wait()
    }
  }
}
