"""What people look at: what happened in a job and when, pictures of results, the report of a program.

| package      | what it is                                                                  |
|--------------|-----------------------------------------------------------------------------|
| `timeline`   | recordings of jobs, their sums per rank, traces for viewers                 |
| `pictures`   | charts as data, drawn as SVG and PNG; pages of HTML                         |
| `report`     | from a recording to what is wrong with a program, with pictures             |
| `comparison` | from results of benchmarks to curves side by side                           |

Nothing here changes a job: an observed job has the same times, digest and results (docs/seeing.md).
"""
