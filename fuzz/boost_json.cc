// Boost.JSON as a part of the programs, so that no library is needed for it.
#include <boost/json/src.hpp>
