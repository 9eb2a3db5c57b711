#pragma once
#include "StandIn/Object.h"
