// The filters that serve the literature: what papers propose and measure, kept for comparison and
// for the rare program that needs exactly one of them.  Each header says which paper it follows.
//
//   RetouchedFilter              denies chosen false positives, and some keys with them
//   ShiftingAssociationFilter    in which of two sets is a key?
//   ShiftingCountingFilter       `counting`, with one load for two counters
//   ShiftingDoubleFilter         `shifting` with a second array
//   ShiftingMultiplicityFilter   how often is a key there, of counts that are known beforehand?
//   SpatialFilter                in which of many areas does a key lie?
//   SpectralFilter               how often was a key added?
//   VectorFilter                 keys are vectors; VectorList reads the files that they come in
#ifndef TRELLIS_BLOOM_LITERATURE_H_
#define TRELLIS_BLOOM_LITERATURE_H_

#include "bloom/literature/retouched.h"
#include "bloom/literature/shifting_association.h"
#include "bloom/literature/shifting_counting.h"
#include "bloom/literature/shifting_double.h"
#include "bloom/literature/shifting_multiplicity.h"
#include "bloom/literature/spatial.h"
#include "bloom/literature/spectral.h"
#include "bloom/literature/vector_file.h"
#include "bloom/literature/vectors.h"

#endif  // TRELLIS_BLOOM_LITERATURE_H_
