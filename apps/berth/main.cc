#include "berth/plugin.h"

int main(int argc, char** argv) { return berth::RunScheduler(argc, argv); }
