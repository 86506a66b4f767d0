public import KVCloneModel

/// Deferred links from new objects to lists of others: 24 bytes each, so many at a time that a list is written once for
/// hundreds of new members.
///
/// New objects are added in the order of their ids, so grouping by target keeps each group in order.
@usableFromInline
package final class DeferredLinks {
  @usableFromInline
  struct Link: BitwiseCopyable {
    @usableFromInline let target: UInt64
    @usableFromInline let member: UInt64
    /// The code of the target's list.
    @usableFromInline let code: UInt64

    @inlinable
    init(target: UInt64, member: UInt64, code: UInt64) {
      self.target = target
      self.member = member
      self.code = code
    }
  }

  /// The members that one list gains, borrowed, and valid during the call.
  @usableFromInline
  package struct Group: RandomAccessCollection {
    fileprivate let links: UnsafePointer<Link>
    @usableFromInline package let startIndex: Int
    @usableFromInline package let endIndex: Int

    @usableFromInline package subscript(index: Int) -> ObjectID { ObjectID(rawValue: links[index].member) }
  }

  /// Beyond this, links are written before others are added.
  static let limit = 1 << 18

  @usableFromInline
  struct State {
    @usableFromInline var links: UnsafeMutablePointer<Link>
    @usableFromInline var count = 0
    @usableFromInline var capacity: Int
  }

  private let state: UnsafeMutablePointer<State>

  /// - Parameter capacity: the initial capacity.
  package init(capacity: Int = 64) {
    state = .allocate(capacity: 1)
    state.initialize(to: State(links: .allocate(capacity: capacity), capacity: capacity))
  }

  deinit {
    state.pointee.links.deallocate()
    state.deallocate()
  }

  var count: Int { state.pointee.count }
  package var isFull: Bool { state.pointee.count >= Self.limit }

  /// The same list, for appending without reference counting: valid while this lives.
  package var sink: DeferredLinkSink { DeferredLinkSink(state: state) }

  /// Adds `member` to the list of `target` with this code.
  package func append(_ target: ObjectID, _ code: UInt16, _ member: ObjectID) { sink.append(target, code, member) }

  /// A list that gains members.
  package typealias List = (owner: ObjectID, code: UInt16)

  /// Calls `body` with each target, the code of its list, and the members that it gains, ascending; and removes them.
  /// Before every `window` lists, the last argument has them all, so that they can be announced.
  package func drain(
    window: Int, _ body: (ObjectID, UInt16, Group, [List]) throws(StoreError) -> Void
  ) throws(StoreError) {
    sort()
    let links = state.pointee.links
    let count = state.pointee.count
    state.pointee.count = 0
    func end(of start: Int) -> Int {
      var end = start + 1
      while end < count, links[end].target == links[start].target, links[end].code == links[start].code { end += 1 }
      return end
    }
    func list(_ link: Link) -> List { (ObjectID(rawValue: link.target), UInt16(truncatingIfNeeded: link.code)) }
    var (start, announced) = (0, 0)
    while start < count {
      var next: [List] = []
      while window > 1, start >= announced || !next.isEmpty, announced < count, next.count < window {
        next.append(list(links[announced]))
        announced = end(of: announced)
      }
      let (end, gaining) = (end(of: start), list(links[start]))
      try body(gaining.owner, gaining.code, Group(links: links, startIndex: start, endIndex: end), next)
      start = end
    }
  }

  /// Groups the links by target, then code: a stable radix sort over the bytes in which they differ.
  private func sort() {
    let count = state.pointee.count
    if count < 2 { return }
    var differing: (target: UInt64, code: UInt64) = (0, 0)
    let first = state.pointee.links[0]
    for index in 1..<count {
      differing.target |= state.pointee.links[index].target ^ first.target
      differing.code |= state.pointee.links[index].code ^ first.code
    }
    if differing == (0, 0) { return }
    var other = UnsafeMutablePointer<Link>.allocate(capacity: state.pointee.capacity)
    defer { other.deallocate() }
    withUnsafeTemporaryAllocation(of: Int.self, capacity: 256) { starts in
      for shift: UInt64 in [0, 8] where differing.code >> shift & 0xFF != 0 {
        Self.distribute(state.pointee.links, other, count, starts) { $0.code >> shift }
        swap(&state.pointee.links, &other)
      }
      for shift in stride(from: 0 as UInt64, to: 64, by: 8) where differing.target >> shift & 0xFF != 0 {
        Self.distribute(state.pointee.links, other, count, starts) { $0.target >> shift }
        swap(&state.pointee.links, &other)
      }
    }
  }

  /// Sorts links by one byte, stably.
  @inline(__always)
  private static func distribute(
    _ links: UnsafePointer<Link>, _ sorted: UnsafeMutablePointer<Link>, _ count: Int,
    _ starts: UnsafeMutableBufferPointer<Int>, _ byte: (Link) -> UInt64
  ) {
    starts.update(repeating: 0)
    for index in 0..<count { starts[Int(byte(links[index]) & 0xFF)] &+= 1 }
    var sum = 0
    for value in 0..<256 { (starts[value], sum) = (sum, sum &+ starts[value]) }
    for index in 0..<count {
      let value = Int(byte(links[index]) & 0xFF)
      (sorted + starts[value]).initialize(to: links[index])
      starts[value] &+= 1
    }
  }
}

/// Appends to ``DeferredLinks``: called for every link of a new object.
@usableFromInline
package struct DeferredLinkSink {
  @usableFromInline let state: UnsafeMutablePointer<DeferredLinks.State>

  /// Adds `member` to the list of `target` with this code.
  @inlinable @inline(__always)
  package func append(_ target: ObjectID, _ code: UInt16, _ member: ObjectID) {
    if state.pointee.count == state.pointee.capacity { grow() }
    (state.pointee.links + state.pointee.count).initialize(
      to: DeferredLinks.Link(target: target.rawValue, member: member.rawValue, code: UInt64(code)))
    state.pointee.count &+= 1
  }

  @usableFromInline @inline(never)
  func grow() {
    let larger = UnsafeMutablePointer<DeferredLinks.Link>.allocate(capacity: 2 * state.pointee.capacity)
    larger.update(from: state.pointee.links, count: state.pointee.count)
    state.pointee.links.deallocate()
    state.pointee.links = larger
    state.pointee.capacity *= 2
  }
}
