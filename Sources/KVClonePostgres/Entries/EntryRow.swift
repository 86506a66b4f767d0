#if Postgres
  /// A key and its value in memory that `owner` keeps.
  struct EntryRow {
    let key: UnsafeRawBufferPointer
    let value: UnsafeRawBufferPointer
    let owner: AnyObject
  }

  /// Copies of a key and a value.
  final class EntryCopy {
    let row: (key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer)
    private let memory: UnsafeMutableRawBufferPointer

    init(key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
      // One more byte, so that an empty value has an address, too.
      memory = .allocate(byteCount: key.count + value.count + 1, alignment: 8)
      memory.copyMemory(from: key)
      let place = UnsafeMutableRawBufferPointer(rebasing: memory[key.count..<key.count + value.count])
      place.copyMemory(from: value)
      row = (UnsafeRawBufferPointer(rebasing: memory[..<key.count]), UnsafeRawBufferPointer(place))
    }

    deinit { memory.deallocate() }
  }

  extension EntryRow {
    init(copyOf key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
      let copy = EntryCopy(key: key, value: value)
      self.init(key: copy.row.key, value: copy.row.value, owner: copy)
    }
  }
#endif
