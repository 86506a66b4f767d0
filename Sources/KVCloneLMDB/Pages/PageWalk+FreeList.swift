/// The free list: lists of page numbers, each under the transaction that freed them.
extension PageWalk {
  /// Checks a record of the leaf `page`. Reports wrong page numbers itself.
  ///
  /// The value is an ID list (midl.h): the count, then so many page numbers, in descending order. It may be longer:
  /// mdb_freelist_save reserves space first, and fills in as many numbers as are left.
  ///
  /// - Throws: the page that is corrupted.
  func visitFreeRecord(_ view: PageView, _ index: Int, _ page: UInt64) throws(PageError) {
    let bad = PageError(page: page, problem: .badFreeRecord)
    let transaction = unsafe UInt64(littleEndian: view.key(index).loadUnaligned(as: UInt64.self))
    if transaction < 1 || transaction > meta.commitNumber { throw bad }
    let length = view.dataLength(index)
    var numbers = FreeNumbers()
    guard length >= 8, length & 7 == 0 else { throw bad }
    if view.flags(index) != PageView.bigDataFlag {
      let bytes = unsafe UnsafeRawBufferPointer(start: view.data(index), count: length)
      guard unsafe take(bytes, &numbers), numbers.isComplete(length) else { throw bad }
      census?.noteFreed(transaction, pages: numbers.taken)
      return
    }
    // Page by page: a store that shrank much has a long list.
    let first = view.overflowPage(index)
    var offset = 0
    while offset < length {
      let count = min(PageView.size, length - offset)
      let piece = unsafe UnsafeMutableRawBufferPointer(start: buffers, count: count)
      try unsafe file.read(first, PageView.headerLength + offset, into: piece)
      guard unsafe take(UnsafeRawBufferPointer(piece), &numbers) else { throw bad }
      offset += count
      if numbers.hasAll { break }
    }
    guard numbers.isComplete(length) else { throw bad }
    census?.noteFreed(transaction, pages: numbers.taken)
  }

  /// The position in a record.
  private struct FreeNumbers {
    var count: UInt64?
    var taken: UInt64 = 0
    var last = UInt64.max

    var hasAll: Bool { count == taken }

    func isComplete(_ length: Int) -> Bool {
      guard let count else { return false }
      return count == taken && count <= UInt64(length / 8 - 1)
    }
  }

  private func take(_ bytes: UnsafeRawBufferPointer, _ numbers: inout FreeNumbers) -> Bool {
    for offset in stride(from: 0, to: bytes.count, by: 8) {
      let number = unsafe UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      guard let count = numbers.count else {
        numbers.count = number
        continue
      }
      if numbers.taken == count { return true }
      guard number >= 2, number <= meta.lastPage, number < numbers.last else { return false }
      numbers.taken += 1
      numbers.last = number
      if used.contains(number) {
        note(number, .usedAndFree)
      } else if number >= freed.limit {
        freedBeyond += 1
      } else if !freed.insert(number) {
        note(number, .freedTwice)
      }
    }
    return true
  }
}
