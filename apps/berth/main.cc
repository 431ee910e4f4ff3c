#include "berth/app/commands.h"

int main(int argc, char** argv) { return berth::app::Main(argc, argv); }
