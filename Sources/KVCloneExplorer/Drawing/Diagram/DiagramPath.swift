/// Lines as data of SVG paths.
enum DiagramPath {
  private static let radius = 6

  /// Returns a line with round corners.
  static func text(_ line: [DiagramPoint]) -> String {
    guard let first = line.first else { return "" }
    var text = "M\(first.x) \(first.y)"
    for index in line.indices.dropFirst() {
      let corner = line[index]
      guard index + 1 < line.count else {
        text += "L\(corner.x) \(corner.y)"
        break
      }
      let (before, after) = (line[index - 1], line[index + 1])
      let round = min(radius, length(before, corner) / 2, length(corner, after) / 2)
      let (start, end) = (point(from: corner, to: before, round), point(from: corner, to: after, round))
      text += "L\(start.x) \(start.y)Q\(corner.x) \(corner.y) \(end.x) \(end.y)"
    }
    return text
  }

  /// Returns the two halves of a line.
  static func halves(_ line: [DiagramPoint]) -> (first: [DiagramPoint], second: [DiagramPoint]) {
    let lengths = zip(line, line.dropFirst()).map { length($0, $1) }
    var rest = lengths.reduce(0, +) / 2
    for (index, length) in lengths.enumerated() {
      if rest > length {
        rest -= length
        continue
      }
      let middle = point(from: line[index], to: line[index + 1], rest)
      return (Array(line[...index]) + [middle], [middle] + line[(index + 1)...])
    }
    return (line, [])
  }

  /// The length of a horizontal or vertical segment.
  private static func length(_ from: DiagramPoint, _ to: DiagramPoint) -> Int {
    abs(from.x - to.x) + abs(from.y - to.y)
  }

  private static func point(from: DiagramPoint, to: DiagramPoint, _ distance: Int) -> DiagramPoint {
    DiagramPoint(
      x: from.x + (to.x - from.x).signum() * distance, y: from.y + (to.y - from.y).signum() * distance)
  }
}
