"""What tables say about a few runs that differ by their seeds: means with intervals, samples until a value."""
import math
import statistics

# Of two-sided 95 % by number of values, from 2 on (Student).
STUDENT = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306, 10: 2.262, 15: 2.145, 16: 2.131,
           36: 2.030}


def half_width(values):
    """Of the 95 % interval of the mean."""
    return STUDENT[len(values)] * statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0


def mean_ci(values):
    return f"{statistics.fmean(values):.4g} ± {half_width(values):.2g}" if values else "–"  # not run


def count_ci(values):
    return f"{statistics.fmean(values):,.0f} ± {half_width(values):,.0f}"


def median_mean_ci(percents):
    """Of percents: the median, then the mean with its interval."""
    if not percents:
        return "–"
    return f"{statistics.median(percents):.2f}; {statistics.fmean(percents):.2f}±{half_width(percents):.2f}"


def at(row, samples):
    return next(reward for n, reward in row["returns"] if n == samples)


def samples_to(row, value):
    return next((n for n, found in row["curve"] if found <= value), None)


def median_samples(rows, value):
    if not rows:
        return "not run"
    reached = sorted(samples_to(row, value) or math.inf for row in rows)
    middle = reached[len(reached) // 2]
    return "–" if math.isinf(middle) else f"{middle:,}"
