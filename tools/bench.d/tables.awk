# Medians of the lines that measure.sh writes: with `names` the table of one target, with `other` its ratios to
# another one.
{
  cell = $1 " " $2 " " $3
  if (!(cell in failed))
    order[++cells] = cell
  failed[cell] += $6
  note(cell " rate", $5 / $7)
  note(cell " p50", $8)
  note(cell " p99", $9)
  for (i = 10; i <= NF; i++) {
    split($i, pair, "=")
    note(cell " " pair[1], pair[2])
  }
}

END {
  n = split(names, wanted, " ")
  for (i = 1; i <= cells; i++) {
    split(order[i], part, " ")
    if (part[1] != target)
      continue
    cell = order[i]
    if (other != "")
      compare(other " " part[2] " " part[3])
    else
      show()
  }
}

function show(   k) {
  printf "%-15s %5d %9.0f %8.2f %8.2f %7d ", part[2], part[3], median(cell " rate"),
         median(cell " p50"), median(cell " p99"), failed[cell]
  for (k = 1; k <= n; k++)
    printf " %8.1f", median(cell " " wanted[k])
  print ""
}

function compare(with) {
  if (!(with in failed))
    return
  printf "%-15s %5d %9.0f %9.0f %6.2f %9.1f %9.1f %6.2f %6.2f %6.2f %7d\n", part[2], part[3],
         median(cell " rate"), median(with " rate"), ratio(with, "rate"), median(cell " all"),
         median(with " all"), ratio(with, "all"), ratio(with, "p50"), ratio(with, "p99"),
         failed[cell] + failed[with]
}

function ratio(with, what,   divisor) {
  divisor = median(with " " what)
  return divisor > 0 ? median(cell " " what) / divisor : 0
}

function note(key, value) {
  values[key, ++count[key]] = value + 0
}

function median(key,   m, i, k, value, sorted) {
  m = count[key]
  for (i = 1; i <= m; i++) {
    value = values[key, i]
    for (k = i; k > 1 && sorted[k - 1] > value; k--)
      sorted[k] = sorted[k - 1]
    sorted[k] = value
  }
  return m == 0 ? 0 : m % 2 ? sorted[(m + 1) / 2] : (sorted[m / 2] + sorted[m / 2 + 1]) / 2
}
