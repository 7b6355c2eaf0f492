// Filters from the literature, kept for comparison and for the rare program that needs exactly one
// of them.  Each header names its paper.
//
//   RetouchedFilter              denies chosen false positives, and some keys with them
//   ShiftingAssociationFilter    in which of two sets is a key?
//   ShiftingCountingFilter       `counting`, with one load for two counters
//   ShiftingDoubleFilter         `shifting` with a second array
//   ShiftingMultiplicityFilter   how often does a key occur, if all counts are known in advance?
//   SpatialFilter                in which of many areas does a key lie?
//   SpectralFilter               how often was a key added?
//   VectorFilter                 keys are vectors; VectorList reads the usual files of them
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
