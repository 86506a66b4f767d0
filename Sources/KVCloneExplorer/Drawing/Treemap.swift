/// Divides a rectangle into others with given areas, as square as possible.
///
/// Bruls, Huizing and van Wijk, Squarified Treemaps (2000): rows are filled along the shorter side while that makes the
/// worst of them squarer. The rectangles tile the area: neighbours share the same edge, to the last bit.
package enum Treemap {
  package struct Rectangle: Equatable {
    package var left: Double
    package var top: Double
    package var right: Double
    package var bottom: Double

    package init(left: Double, top: Double, right: Double, bottom: Double) {
      self.left = left
      self.top = top
      self.right = right
      self.bottom = bottom
    }

    package var width: Double { right - left }
    package var height: Double { bottom - top }
  }

  /// - Parameter sizes: descending, none negative.
  /// - Returns: the rectangles in the order of the sizes.
  package static func layout(_ sizes: [Double], in area: Rectangle) -> [Rectangle] {
    var rest = area
    var restSize = sizes.reduce(0, +)
    var found: [Rectangle] = []
    found.reserveCapacity(sizes.count)
    var start = 0
    while start < sizes.count {
      let scale = restSize > 0 ? rest.width * rest.height / restSize : 0
      let side = min(rest.width, rest.height)
      var end = start + 1
      var sum = sizes[start]
      while end < sizes.count {
        let longer = sum + sizes[end]
        let isSquarer =
          worst(sizes[start], sizes[end], longer, side, scale) <= worst(sizes[start], sizes[end - 1], sum, side, scale)
        if !isSquarer { break }
        sum = longer
        end += 1
      }
      place(sizes[start..<end], sum, isLast: end == sizes.count, restSize, &rest, &found)
      restSize -= sum
      start = end
    }
    return found
  }

  /// The worst aspect ratio in a row with this largest and smallest size.
  private static func worst(_ largest: Double, _ smallest: Double, _ sum: Double, _ side: Double, _ scale: Double)
    -> Double
  {
    let area = sum * scale
    if area <= 0 || side <= 0 || smallest <= 0 { return .infinity }
    let square = side * side
    return max(square * largest * scale / (area * area), area * area / (square * smallest * scale))
  }

  /// Cuts a row from the remaining area.
  private static func place(
    _ sizes: ArraySlice<Double>, _ sum: Double, isLast: Bool, _ restSize: Double, _ rest: inout Rectangle,
    _ found: inout [Rectangle]
  ) {
    let part = isLast || restSize <= 0 ? 1 : sum / restSize
    var row = rest
    let isColumn = rest.width >= rest.height
    if isColumn {
      if !isLast { row.right = rest.left + rest.width * part }
      rest.left = row.right
    } else {
      if !isLast { row.bottom = rest.top + rest.height * part }
      rest.top = row.bottom
    }
    var before = 0.0
    var edge = isColumn ? row.top : row.left
    for (index, size) in sizes.enumerated() {
      before += size
      let isEnd = index == sizes.count - 1 || sum <= 0
      var cell = row
      if isColumn {
        cell.top = edge
        if !isEnd { cell.bottom = row.top + row.height * (before / sum) }
        edge = cell.bottom
      } else {
        cell.left = edge
        if !isEnd { cell.right = row.left + row.width * (before / sum) }
        edge = cell.right
      }
      found.append(cell)
    }
  }
}
