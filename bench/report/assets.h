// The page's template, style and scripts: files in this directory, embedded into the program during
// the build (embed.cmake).
#ifndef TRELLIS_BENCH_REPORT_ASSETS_H_
#define TRELLIS_BENCH_REPORT_ASSETS_H_

namespace bench {

extern const char kPageHtml[];            // page.html
extern const char kPageCss[];             // page.css
extern const char kPlotsJs[];             // plots.js
extern const char kReadAmpJs[];           // read_amp.js
extern const char kFilterLabJs[];         // filter_lab.js
extern const char kPeersJs[];             // peers.js
extern const char kLevelFiltersJs[];      // level_filters.js
extern const char kCompactionStylesJs[];  // compaction_styles.js
extern const char kScaleJs[];             // scale.js

}  // namespace bench

#endif  // TRELLIS_BENCH_REPORT_ASSETS_H_
