package import KVCloneLMDB

/// An array that may exceed memory: see ``ScratchSpace``. A reference type; copies share its elements.
///
/// Inlinable, and without exclusivity checks, because other modules access elements in their innermost loops.
@usableFromInline
package final class ScratchArray<Element: BitwiseCopyable> {
  @usableFromInline
  struct State {
    @usableFromInline var elements: UnsafeMutablePointer<Element>
    @usableFromInline var count = 0
    @usableFromInline var capacity = 0
  }

  private let space: ScratchSpace
  private var region: ScratchSpace.Region?
  @usableFromInline let state: UnsafeMutablePointer<State>

  package init(in space: ScratchSpace) {
    self.space = space
    state = .allocate(capacity: 1)
    // Never read while the capacity is 0.
    state.initialize(to: State(elements: UnsafeMutablePointer(bitPattern: MemoryLayout<Element>.alignment)!))
  }

  /// Creates an array of `count` equal elements.
  package convenience init(repeating element: Element, count: Int, in space: ScratchSpace) throws(StoreError) {
    self.init(in: space)
    try reserve(count)
    elements.update(repeating: element, count: count)
    self.count = count
  }

  deinit {
    if let region { space.deallocate(region) }
    state.deallocate()
  }

  @inlinable package var count: Int {
    get { state.pointee.count }
    @usableFromInline set { state.pointee.count = newValue }
  }
  @inlinable package var capacity: Int { state.pointee.capacity }
  @inlinable package var isEmpty: Bool { count == 0 }
  @inlinable package var indices: Range<Int> { 0..<count }
  private var elements: UnsafeMutablePointer<Element> { state.pointee.elements }

  @inlinable
  package subscript(index: Int) -> Element {
    get {
      precondition(index >= 0 && index < count, "an index outside the array")
      return state.pointee.elements[index]
    }
    set {
      precondition(index >= 0 && index < count, "an index outside the array")
      state.pointee.elements[index] = newValue
    }
  }

  @inlinable
  package func append(_ element: Element) throws(StoreError) {
    if count == capacity { try reserve(max(16, count * 2)) }
    state.pointee.elements[count] = element
    state.pointee.count += 1
  }

  /// Removes the elements, and keeps the capacity.
  package func removeAll() { count = 0 }

  /// Removes the last elements, and keeps their room.
  package func removeLast(_ number: Int) {
    precondition(number >= 0 && number <= count, "more elements than the array has")
    count -= number
  }

  @usableFromInline
  package func reserve(_ wanted: Int) throws(StoreError) {
    guard wanted > capacity else { return }
    let larger = try storeErrors { () throws(LMDBError) in
      try space.allocate(wanted * MemoryLayout<Element>.stride)
    }
    let moved = larger.start.bindMemory(to: Element.self, capacity: wanted)
    moved.update(from: elements, count: count)
    if let region { space.deallocate(region) }
    region = larger
    state.pointee.elements = moved
    state.pointee.capacity = larger.byteCount / MemoryLayout<Element>.stride
  }
}

extension ScratchArray where Element == UInt8 {
  /// The elements, valid until the next change.
  package var rawBytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: elements, count: count) }

  /// Appends bytes that the caller initializes, and returns their address.
  package func extend(by number: Int) throws(StoreError) -> UnsafeMutableRawPointer {
    if capacity - count < number { try reserve(max(1024, (count + number) * 2)) }
    defer { count += number }
    return UnsafeMutableRawPointer(elements + count)
  }
}

extension ScratchArray where Element == UInt64 {
  /// Sorts the elements, ascending, by radix sort: the standard library's sort would allocate half as much heap memory,
  /// which this array avoids.
  package func sort() throws(StoreError) {
    if isSorted { return }
    var all: UInt64 = 0
    var common: UInt64 = ~0
    for index in 0..<count {
      all |= elements[index]
      common &= elements[index]
    }
    let other = ScratchArray(in: space)
    try other.reserve(count)
    var starts = [Int](repeating: 0, count: 256)
    // Skip bytes that are equal in all elements.
    for shift in stride(from: 0, to: 64, by: 8) where (all ^ common) >> shift & 0xFF != 0 {
      Self.sort(elements, into: other.elements, count, by: UInt64(shift), &starts)
      swap(&state.pointee.elements, &other.state.pointee.elements)
      swap(&state.pointee.capacity, &other.state.pointee.capacity)
      swap(&region, &other.region)
    }
  }

  /// Sorts words by one byte, stably.
  private static func sort(
    _ words: UnsafePointer<UInt64>, into sorted: UnsafeMutablePointer<UInt64>, _ count: Int, by shift: UInt64,
    _ starts: inout [Int]
  ) {
    for value in 0..<256 { starts[value] = 0 }
    for index in 0..<count { starts[Int(words[index] >> shift & 0xFF)] += 1 }
    var sum = 0
    for value in 0..<256 { (starts[value], sum) = (sum, sum + starts[value]) }
    for index in 0..<count {
      let value = Int(words[index] >> shift & 0xFF)
      sorted[starts[value]] = words[index]
      starts[value] += 1
    }
  }

  private var isSorted: Bool {
    for index in 1..<max(1, count) where elements[index] < elements[index - 1] { return false }
    return true
  }

  /// Whether both have the same elements in the same order.
  package func isEqual(to other: ScratchArray<UInt64>) -> Bool {
    guard count == other.count else { return false }
    for index in 0..<count where elements[index] != other.elements[index] { return false }
    return true
  }
}
